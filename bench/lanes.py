"""The ways a call can take: straight, through a C program that only carries bytes, through us."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from policies import RULES, policy_text
from talk import Talk, is_refused, opened

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PATH = "/usr/local/bin:/usr/bin:/bin"
JAILED = "mcp-jail"


class Server(NamedTuple):
    """A server to measure, the call that is made to it, and what its policy says of that call."""

    name: str  # of its policy, so that each command has an audit and a lock of its own
    words: tuple[str, ...]
    tool: str
    arguments: bytes  # JSON
    constraints: str  # YAML: what the policy asks of the arguments
    refused: bytes  # the params of a call that the server would carry out and the policy must not
    read_only: tuple[str, ...] = ()
    rules: int = RULES
    more: tuple[str, ...] = ()  # YAML: other lines of the policy

    @property
    def call(self) -> bytes:
        """The params of the call that is measured."""
        return b'{"name":"%b","arguments":%b}' % (self.tool.encode(), self.arguments)


class Lane(NamedTuple):
    """A named way: what to put before the server's command, and the environment it starts in."""

    name: str
    prefix: tuple[str, ...]
    env: dict[str, str]

    @property
    def is_jailed(self) -> bool:
        """Whether this is the way through us."""
        return self.name == JAILED

    def command(self, server: Server) -> list[str]:
        """The words to start a server by this way."""
        if self.is_jailed:
            return [*self.prefix, "run", server.name, "--", *server.words]
        return [*self.prefix, *server.words]


class Jailed:
    """What was done to one server through us, to hold its audit against afterwards."""

    def __init__(self, server: Server, policy: str) -> None:
        self.server = server
        self.policy_sha256 = hashlib.sha256(policy.encode()).hexdigest()
        self.runs = 0
        self.calls = 0
        self.let_through = 0  # calls that the policy should have refused, and did not


class Workshop:
    """Compiled programs and a throw-away home with policies that have everything on."""

    def __init__(self, folder: Path, mcp_jail: str) -> None:
        """Compile and write what a run needs below a folder, which is to be empty."""
        self.folder = folder
        self.mcp_jail = mcp_jail
        self.home = folder / "home"
        self.shared = self.home / "projects" / "app"
        self.policies = self.home / ".config" / "mcp-jail" / "policies"
        self.state = self.home / ".local" / "state" / "mcp-jail"
        self.env = {"HOME": str(self.home), "PATH": PATH, "USER": "bench"}
        self.jailed: dict[str, Jailed] = {}
        (self.shared / "some").mkdir(parents=True)
        self.policies.mkdir(parents=True)
        for private in (self.home, self.policies.parent, self.policies):
            private.chmod(0o700)
        self.echo, self.pump = self._compiled("echo"), self._compiled("pump")
        self.missing = self._missing()

    @property
    def lanes(self) -> list[Lane]:
        """Direct, the pump, mcp-jail: all started in one environment."""
        return [Lane("direct", (), self.env), Lane("C pump", (self.pump,), self.env), self.lane]

    @property
    def lane(self) -> Lane:
        """The way through us."""
        return Lane(JAILED, (self.mcp_jail,), self.env)

    @property
    def has_lock(self) -> bool:
        """Whether the measured program has the lock; then every policy here asks for it."""
        return "lock" not in self.missing

    def echo_server(self, name: str, *words: str, rules: int = RULES) -> Server:
        """The echo server, called with a path that the policy has to look at; some 200 bytes."""
        arguments = b'{"path":"%b","content":"some sixty characters of text, as a model would send'
        arguments += b' them"}'
        return Server(
            name,
            (self.echo, *(words or ("200",))),
            tool="write_file",
            arguments=arguments % str(self.shared / "some" / "file.txt").encode(),
            constraints="{path: {under: [~/projects/app]}, content: {max_length: 1000}}",
            refused=b'{"name":"write_file","arguments":{"path":"/etc/hosts","content":"x"}}',
            read_only=(self.echo, self.pump),
            rules=rules,
        )

    def audits(self, name: str) -> list[Path]:
        """The files of the audit of a name, in no order."""
        return [*self.state.glob(f"{name}.jsonl"), *self.state.glob(f"{name}.jsonl.[0-9]*")]

    def prepare(self, server: Server) -> Jailed:
        """Write the policy of a server, if it is not there yet."""
        if server.name not in self.jailed:
            text = policy_text(
                server.name,
                tool=server.tool,
                constraints=server.constraints,
                read_only=server.read_only,
                rules=server.rules,
                lock=self.has_lock,
                more=server.more,
            )
            self.write_policy(server.name, text)
            self.jailed[server.name] = Jailed(server, text)
        return self.jailed[server.name]

    def write_policy(self, name: str, text: str) -> None:
        """Write a policy file as mcp-jail wants it: readable by its owner alone."""
        path = self.policies / f"{name}.yaml"
        path.touch(mode=0o600)
        path.write_text(text)

    @contextmanager
    def talking(self, lane: Lane, server: Server) -> Iterator[Talk]:
        """An open talk with a server; through us, the policy refuses a call first."""
        if not lane.is_jailed:
            with opened(lane.command(server), lane.env, server.call) as talk:
                yield talk
            return
        jailed = self.prepare(server)
        with opened(lane.command(server), lane.env, server.call) as talk:
            jailed.runs += 1
            jailed.let_through += not is_refused(talk.answer(server.refused))
            yield talk
            jailed.calls += talk.calls

    def _compiled(self, name: str) -> str:
        made = str(self.folder / name)
        subprocess.run(["cc", "-O2", "-o", made, str(HERE / f"{name}.c")], check=True)
        return made

    def _missing(self) -> frozenset[str]:
        """The keys of a policy that the measured program does not enforce yet."""
        self.write_policy("plain", "name: plain\n")
        words = [self.mcp_jail, "show", "plain", "--json"]
        shown = subprocess.run(words, env=self.env, check=True, capture_output=True).stdout
        return frozenset(key.partition(":")[0] for key in msgspec.json.decode(shown)["not_yet"])


def installed(folder: Path) -> str:
    """mcp-jail as a user has it: locked dependencies, no development tools beside it."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*pip, *wheel], check=True)
    (built,) = folder.glob("mcp_jail-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip[0] = str(folder / "venv/bin/python")
    locked = str(ROOT / "requirements" / "run.txt")
    subprocess.run([*pip, "install", "--require-hashes", "-r", locked], check=True)
    subprocess.run([*pip, "install", "--no-deps", str(built)], check=True)
    return str(folder / "venv/bin/mcp-jail")
