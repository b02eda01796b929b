"""Real servers, straight and jailed: the filesystem server of npm, the time server of PyPI.

They are those of the tests (`make needs`). The first is also started by a bare `npx -y`, with its
package in npm's cache already, as most clients' entries do, and as `mcp-jail install` pins it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from figures import Figures, interleaved, p50_us, started
from lanes import PATH, ROOT, Lane, Server, Workshop
from talk import LostError

PACKAGE = "@modelcontextprotocol/server-filesystem"
NPX = "npx -y bare"
PINNED = "pinned"


class Real(NamedTuple):
    """What is there of the real servers, by the word that begins their figures."""

    servers: dict[str, Server]
    npx: Lane | None
    pinned: Server | None
    left_out: list[str]


def find(workshop: Workshop, root: Path = ROOT) -> Real:
    """The real servers that are installed, npx if it can start its own, and what is missing."""
    servers: dict[str, Server] = {}
    left_out = []
    script = root / "tests/node/node_modules" / PACKAGE / "dist/index.js"
    node = shutil.which("node", path=PATH)
    if node is not None and script.is_file():
        servers["node"] = _filesystem(workshop, node, str(script))
    else:
        left_out.append("node: Node.js or the npm servers are not here (make needs)")
    program = root / ".servers/bin/mcp-server-time"
    if program.is_file():
        servers["python"] = _time(str(program))
    else:
        left_out.append("python: the PyPI servers are not here (make needs)")
    npx = _npx(workshop, servers["node"]) if "node" in servers else None
    if "node" in servers and npx is None:
        left_out.append(f"{NPX}: it could not fetch and start its server")
    pinned = _pinned(workshop, servers["node"], root) if npx is not None else None
    if npx is not None and pinned is None:
        left_out.append(f"{PINNED}: its package could not be installed")
    return Real(servers, npx, pinned, left_out)


def measure(workshop: Workshop, real: Real, rounds: int, starts: int) -> Figures:
    """Milliseconds to the answers of initialize and tools/list, and a small call's p50 in us."""
    found: Figures = {}
    direct = workshop.lanes[0]
    for word, server in real.servers.items():
        lanes = [direct, workshop.lane]
        if word == "node" and real.npx is not None:
            lanes.insert(1, real.npx)
        ways = {lane.name: (lane, server) for lane in lanes}
        if word == "node" and real.pinned is not None:
            ways[PINNED] = (workshop.lane, real.pinned)
        taken = started(ways, workshop, starts)
        with ExitStack() as stack:
            talks = {
                lane.name: stack.enter_context(workshop.talking(lane, server))
                for lane in (direct, workshop.lane)
            }
            calls = interleaved(talks, rounds, calls=20)
        found[f"{word} initialize ms"] = {
            name: median(talk.initialize_ns / 1e6 for talk in talks)
            for name, talks in taken.items()
        }
        found[f"{word} tools/list ms"] = {
            name: median(talk.start_ns / 1e6 for talk in talks) for name, talks in taken.items()
        }
        found[f"{word} call p50 us"] = {name: p50_us(each) for name, each in calls.items()}
    return found


def _filesystem(workshop: Workshop, node: str, script: str) -> Server:
    file = workshop.shared / "some" / "real.txt"
    file.write_text("some text\n")
    return Server(
        "real-node",
        (node, script, str(workshop.shared)),
        tool="get_file_info",
        arguments=b'{"path":"%b"}' % str(file).encode(),
        constraints="{path: {under: [~/projects/app]}}",
        refused=b'{"name":"list_allowed_directories","arguments":{}}',
    )


def _time(program: str) -> Server:
    return Server(
        "real-python",
        (program,),
        tool="get_current_time",
        arguments=b'{"timezone":"Europe/London"}',
        constraints="{timezone: {max_length: 40}}",
        refused=b'{"name":"convert_time","arguments":{"source_timezone":"UTC","time":"12:00",'
        b'"target_timezone":"Asia/Tokyo"}}',
    )


class _Npx(Lane):
    """A lane that starts the package of a server instead of its installed script."""

    def command(self, server: Server) -> list[str]:
        return [*self.prefix, *server.words[2:]]


def _npx(workshop: Workshop, server: Server) -> Lane | None:
    """Bare npx with a cache of its own that holds the package now; None where it cannot start."""
    cache = str(workshop.folder / "npm")
    # What points at mirrors and certificates is kept: a bare npx asks the registry at each start.
    env = {**os.environ, "PATH": f"{PATH}:{os.environ['PATH']}", "npm_config_cache": cache}
    lane = _Npx(NPX, ("npx", "-y", PACKAGE), env)
    try:
        for _ in range(2):  # the first fetches, the second shows that it need not
            with workshop.talking(lane, server):
                pass
    except (LostError, FileNotFoundError):
        return None
    return lane


def _pinned(workshop: Workshop, server: Server, root: Path) -> Server | None:
    """The same server out of its installed package; None where that cannot be fetched."""
    manifest = root / "tests/node/node_modules" / PACKAGE / "package.json"
    version = msgspec.json.decode(manifest.read_bytes())["version"]
    package = f'package: {{npm: "{PACKAGE}", version: "{version}"}}'
    # A policy of its own to fetch it by, as the audit of what is measured counts starts.
    workshop.write_policy("fetched", f"name: fetched\n{package}\n")
    settings = str(Path.home() / ".npmrc")
    env = {**os.environ, **workshop.env, "npm_config_userconfig": settings}
    words = [workshop.mcp_jail, "install", "fetched"]
    done = subprocess.run(words, env=env, capture_output=True, check=False)
    if done.returncode:
        return None
    words_of_a_client = ("npx", "-y", PACKAGE, *server.words[2:])
    return server._replace(name="real-pinned", words=words_of_a_client, more=(package,))
