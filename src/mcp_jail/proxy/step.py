"""A command that is run once in a jail, to its end: no client, no policy, no directory of yours.

What installs a package is such a command. Its jail is built, looked at and closed in as any
server's; its gate opens the hosts of the step and nothing else.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from mcp_jail.core.policy import HostEntry, Network, NetworkMode, Verdict
from mcp_jail.core.recorded.audit import Entry
from mcp_jail.core.spec import Access, JailSpec, Mount, MountKind, Plan, Share
from mcp_jail.errors import JailBuildError, UsageError
from mcp_jail.gate.allow import Allow, compile_network
from mcp_jail.gate.attempts import What
from mcp_jail.gate.process import start
from mcp_jail.packages.installing import INSIDE_HOME, Ran, Step
from mcp_jail.proxy.gate_reports import Reports
from mcp_jail.proxy.gating import enter, filters, serve
from mcp_jail.proxy.stderr import LINE_LIMIT, clean
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.installations import of_the_system
from mcp_jail.sandbox.launch import Jail, launch
from mcp_jail.sandbox.plan import inside_home
from mcp_jail.sandbox.probe import probe
from mcp_jail.sandbox.protected import lies_in
from mcp_jail.sandbox.toolchain import Toolchain, discover

# Seconds for one step; the largest packages take minutes on a slow line.
STEP_SECONDS: Final = 1800.0
TICK: Final = 0.1  # seconds between two looks at how it goes, which move what a person is shown

OUT_LIMIT: Final = 4 << 20  # bytes of what a step writes that are kept: its beginning
ERRORS_LIMIT: Final = 64 << 10  # of its error stream: its end
CHUNK: Final = 1 << 16

_WHY: Final = "the package that is being installed"


class JailedSteps:
    """Runs steps for this user; `tick` is called some times a second while one runs.

    `record` takes what is tried on the network, for an audit.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        tick: Callable[[], None] | None = None,
        record: Callable[[list[Entry]], None] | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._host = probe(self._environ)
        self._tick = tick or _nothing
        self._record = record or _nowhere

    def find(self, program: str) -> str | None:
        """Where a program lies that a command names; None where there is none."""
        try:
            return self._discover(program).executable
        except UsageError:
            return None

    def shown(self, program: str) -> str | None:
        """How a jail shows this program: not by links that lie where it shows nothing."""
        try:
            tools = self._discover(program)
        except UsageError:
            return None
        place = tools.executable
        while os.path.islink(place) and not _is_seen(place, tools):
            place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
        return place if _is_seen(place, tools) else os.path.realpath(place)

    def run(self, step: Step) -> Ran:
        """Run a step. The process must be single-threaded. JailBuildError, ShareError."""
        plan = _placed(build(self._spec(step), environ=self._environ, host=self._host), step)
        with _built(plan, _allow(step)) as (jail, reports):
            jail.go()
            os.close(jail.stdin)
            jail.stdin = -1
            heard = _Heard(self._record)
            self._listen(jail, reports, heard)
            status = jail.wait(_END_SECONDS)
        for event in reports.rest():
            heard.entry(event.entry)
        if status is None:
            raise JailBuildError("a step that was ended does not end")
        lines = heard.errors.decode(errors="replace").splitlines()
        return Ran(
            code=-1 if heard.is_late else os.waitstatus_to_exitcode(status),
            out=heard.out,
            errors="\n".join(clean(line[:LINE_LIMIT]) for line in lines),
            refused=tuple(heard.refused),
            failed=tuple(heard.failed),
        )

    def _spec(self, step: Step) -> JailSpec:
        folder = [] if step.folder is None else [_share(step.folder, Access.READ_WRITE)]
        needed = [share for name in step.programs for share in self._discover(name).shares]
        return JailSpec(
            name="install",
            command=tuple(self._inside(word) for word in step.command),
            cwd=step.folder or "/",
            shares=(*folder, *{share.path: share for share in needed}.values()),
            env={name: self._inside(value) for name, value in step.env.items()},
            is_alone=step.is_alone,
        )

    def _inside(self, text: str) -> str:
        return text.replace(INSIDE_HOME, inside_home(self._host))

    def _discover(self, program: str) -> Toolchain:
        path = self._environ.get("PATH") or os.defpath
        home, account = self._host.home, self._host.account_home
        return discover((program,), path=path, cwd="/", home=home, account_home=account)

    def _listen(self, jail: Jail, reports: Reports, heard: _Heard) -> None:
        """Hear a step until it is over; one that takes too long is ended."""
        deadline = time.monotonic() + STEP_SECONDS
        open_fds = {jail.stdout, jail.stderr, reports.fd}
        for fd in (jail.stdout, jail.stderr):
            os.set_blocking(fd, False)
        while open_fds & {jail.stdout, jail.stderr}:
            ready = select.select([*open_fds, jail.pidfd], [], [], TICK)[0]
            self._tick()
            if time.monotonic() > deadline:
                heard.is_late = True
                jail.kill()
            for fd in open_fds.intersection(ready):
                if fd == reports.fd:
                    for event in reports.read():
                        heard.entry(event.entry)
                    is_over = reports.at_end
                else:
                    is_over = not heard.take(fd, is_error=fd == jail.stderr)
                if is_over:
                    open_fds.discard(fd)


def _is_seen(place: str, tools: Toolchain) -> bool:
    """Whether a jail with what this program needs has it by this very path."""
    if os.path.realpath(os.path.dirname(place)) != os.path.dirname(place):
        return False
    roots = (os.path.realpath(share.path) for share in tools.shares)
    return of_the_system(place) or any(lies_in(place, root) for root in roots)


# Seconds for the status of a jail whose streams are closed: all its processes are gone by then, or
# one has closed what it was given and is ended with the jail.
_END_SECONDS: Final = 10.0


class _Heard:
    """What came of a step so far."""

    def __init__(self, record: Callable[[list[Entry]], None]) -> None:
        self._record = record
        self.out = b""
        self.errors = b""
        self.refused: dict[str, None] = {}
        self.failed: dict[str, None] = {}
        self.is_late = False

    def take(self, fd: int, *, is_error: bool) -> bool:
        """Take what stands in a stream; False at its end."""
        data = os.read(fd, CHUNK)
        if is_error:
            self.errors = (self.errors + data)[-ERRORS_LIMIT:]
        else:
            self.out = (self.out + data)[:OUT_LIMIT]
        return bool(data)

    def entry(self, entry: Entry) -> None:
        """Take a word of the gate."""
        self._record([entry])
        tried = entry.method in {What.LOOKUP.value, What.CONNECT.value}
        if tried and entry.verdict == Verdict.DENY.value:
            self.refused[entry.name] = None
        elif entry.method == What.FAILED.value and entry.reason:
            self.failed[f"{entry.name} {entry.reason}"] = None


@contextmanager
def _built(plan: Plan, allow: Allow) -> Iterator[tuple[Jail, Reports]]:
    """A jail with its gate, looked at from outside; both are closed in any case."""
    gate = start(allow, enter, **filters(os.uname().machine))
    reports = Reports.of(gate)
    try:
        jail = launch(plan)
        try:
            serve(gate, jail)
            yield jail, reports
        finally:
            jail.close()
    finally:
        gate.close()


def _allow(step: Step) -> Allow:
    """What the gate of a step opens."""
    hosts = tuple(HostEntry(host=each.host) if each.is_tls else each.host for each in step.hosts)
    # A registry of the user's own may well stand in a private network: they named it.
    network = Network(
        mode=NetworkMode.ALLOWLIST if hosts else NetworkMode.NONE,
        allow=hosts,
        private=Verdict.ALLOW,
        upstream_proxy=None if step.proxy is None else step.proxy.url,
    )
    direct = () if step.proxy is None else step.proxy.direct
    return msgspec.structs.replace(compile_network(network), direct=frozenset(direct))


def _placed(plan: Plan, step: Step) -> Plan:
    """The plan with its folder at the place it is made for, and the step's files below HOME."""
    home = plan.env["HOME"]
    mounts = [
        *(_moved(mount, step) for mount in plan.mounts),
        *(
            Mount(kind=MountKind.DATA, destination=f"{home}/{path}", data=data, why=_SETTINGS)
            for path, data in step.files.items()
        ),
    ]
    mounts.sort(key=lambda mount: mount.destination.split("/"))
    return msgspec.structs.replace(
        plan, mounts=tuple(mounts), cwd=plan.cwd if step.place is None else _real(step.place)
    )


_SETTINGS: Final = "the user's own settings of registries"


def _moved(mount: Mount, step: Step) -> Mount:
    is_folder = mount.kind is MountKind.BIND_READ_WRITE and mount.why == _WHY
    if not is_folder or step.place is None:
        return mount
    return msgspec.structs.replace(mount, destination=_real(step.place))


def _real(place: str) -> str:
    """A place that need not be there yet, without links on the way to it."""
    parent, name = os.path.split(place)
    return os.path.join(os.path.realpath(parent), name)


def _share(path: str, access: Access) -> Share:
    return Share(path=path, access=access, why=_WHY)


def _nothing() -> None:
    """What is done in between where nobody looks."""


def _nowhere(_entries: list[Entry]) -> None:
    """Where entries go that nobody keeps."""
