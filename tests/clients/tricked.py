"""SDK clients against a server that plays tricks: what each trick gave, and all that reached them.

One call names a trick, then an honest one shows whether the session lives; a dead one is opened
anew. The clients offer sampling, elicitation and roots.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import ErrorData, TextContent

from driver import PATIENCE

TYPESCRIPT: Final = Path(__file__).resolve().parent.parent / "node" / "tricked.mjs"
# Characters of a text that are looked at; some are of many MiB.
CUT: Final = 2000
# What a request of the server that reached the application begins with.
ASKED: Final = "asked: "


class Heard(NamedTuple):
    """What a call that named a trick gave, an honest one after it, and what else came."""

    said: str
    after: str
    noise: tuple[str, ...] = ()


def hear(
    client: str,
    command: list[str],
    environment: Mapping[str, str],
    tricks: Sequence[str],
    *,
    patience: float = PATIENCE,
) -> dict[str, Heard]:
    """What a client hears of each trick; the client is `python-MODE` or an era of TypeScript.

    `patience` is for how many seconds a Python client waits for an answer.
    """
    kind, _, mode = client.partition("-")
    if kind == "python":
        return _Python(command, environment, mode, patience).hear(tricks)
    words = [json.dumps(part) for part in (command, dict(environment), list(tricks))]
    done = subprocess.run(
        ["node", str(TYPESCRIPT), client, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.split("\n") if line]
    return {each["trick"]: Heard(each["said"], each["after"], (*each["noise"],)) for each in told}


class _Python:
    """The Python SDK's client."""

    def __init__(
        self, command: list[str], environment: Mapping[str, str], mode: str, patience: float
    ) -> None:
        self._server = StdioServerParameters(
            command=command[0], args=command[1:], env=dict(environment)
        )
        self._mode = mode
        self._patience = patience
        self._noise: list[str] = []
        self._heard: dict[str, Heard] = {}

    def hear(self, tricks: Sequence[str]) -> dict[str, Heard]:
        """What is heard of each, in as many sessions as it takes."""
        while left := [trick for trick in tricks if trick not in self._heard]:
            try:
                anyio.run(self._session, left)
            except* Exception as error:  # noqa: BLE001
                last = next(reversed(self._heard))
                died = f"the session died: {error.exceptions!r}"[:CUT]
                said, after, noise = self._heard[last]
                self._heard[last] = Heard(said, after, (*noise, died))
        return self._heard

    async def _session(self, tricks: Sequence[str]) -> None:
        """Play tricks until all are played or the session is dead."""
        async with Client(
            stdio_client(self._server),
            mode=self._mode,
            message_handler=self._take,
            sampling_callback=self._asked,
            elicitation_callback=self._asked,
            list_roots_callback=self._asked,
        ) as client:
            # Else the first call makes it list, and a trick may answer that instead.
            await client.list_tools()
            for trick in tricks:
                said = await self._say(client, trick)
                after = await self._say(client, "honest")
                self._heard[trick] = Heard(said, after, (*self._noise,))
                self._noise.clear()
                if after != "honest":
                    return

    async def _take(self, message: object) -> None:
        self._noise.append(str(message)[:CUT])

    async def _asked(self, context: Any, params: Any = None) -> ErrorData:
        await self._take(f"{ASKED}{params}")
        return ErrorData(code=1, message="no")

    async def _say(self, client: Client, text: str) -> str:
        try:
            with anyio.fail_after(self._patience):
                (block,) = (await client.call_tool("echo", {"text": text})).content
        except Exception as error:  # noqa: BLE001
            return f"error: {error}"[:CUT]
        assert isinstance(block, TextContent)
        return block.text[:CUT]
