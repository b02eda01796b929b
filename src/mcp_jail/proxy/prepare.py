"""From a policy's name to all values of a run: policy, rulebook, plan. Starts nothing.

Nothing is written but, where a policy keeps its server's HOME, that empty directory of ours.

`run` carries out what this gives, `show` prints it and `check` asks its rulebook, so what is shown
is what is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec

from mcp_jail.config import load
from mcp_jail.config.jailspec import jail_spec
from mcp_jail.config.lint import Lint, lint
from mcp_jail.config.problems import Problems, refusal
from mcp_jail.config.strangers import load_strangers
from mcp_jail.core.policy import Home, Policy
from mcp_jail.core.rules.decide import Rulebook, compile_rules
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.core.secret_values import Secrets
from mcp_jail.core.sha256 import sha256
from mcp_jail.core.spec import JailSpec, Plan
from mcp_jail.errors import Place, ShareError, UsageError
from mcp_jail.proxy.command_words import command_of, words_of
from mcp_jail.proxy.packaged import Packaged, packaged
from mcp_jail.proxy.standing import standing_for
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.protected import Ours, lies_in
from mcp_jail.store.files import make_private_folder
from mcp_jail.store.places import MAX_NAME_CHARS, Places, find_places, home_folder
from mcp_jail.store.policies import PolicyFile, PolicyKind, find_policy, read_policy

# Hex digits that tell a policy file from elsewhere from any other.
_MARK_DIGITS = 32


class Judged(msgspec.Struct, frozen=True):
    """A policy as it was read: its file, its values, its rules; enough to judge a call."""

    file: PolicyFile
    policy: Policy
    places: dict[KeyPath, Place]
    book: Rulebook
    on_disk: Places
    home: str
    source: str  # what places call the file

    @property
    def state_name(self) -> str:
        """The name its audit and its kept HOME go by.

        A policy from elsewhere chose its name itself, and must not get at those of the user's own
        policy that has the same one, nor at those of another file that can be put where the mark
        is the same: so it has 128 bits.
        """
        if self.file.kind is not PolicyKind.TRUSTED:
            return self.policy.name
        mark = sha256(os.fsencode(self.file.path)).hexdigest()[:_MARK_DIGITS]
        return f"{self.policy.name[: MAX_NAME_CHARS - len(mark) - 1]}-{mark}"

    def problem(self, problems: Problems, key: KeyPath, message: str, hint: str) -> None:
        """Note a problem at a key of the policy, or at the top where it is not written."""
        problems.add(self.places.get(key) or problems.at(1, 1), message, hint)


class Prepared(msgspec.Struct, frozen=True):
    """A judged policy with the jail of one command."""

    judged: Judged
    spec: JailSpec
    plan: Plan
    lints: tuple[Lint, ...]
    audit: str  # path of the audit file
    secrets: Secrets = msgspec.field(
        default_factory=Secrets
    )  # put in by `with_secrets`, which a run needs
    package: Packaged | None = None

    @property
    def policy(self) -> Policy:
        """The policy's values."""
        return self.judged.policy

    @property
    def roots(self) -> tuple[str, ...]:
        """The directories a server may be told of: those the policy shares, nothing of ours."""
        files = self.policy.filesystem
        named = (*files.read_write, *files.read_only)
        paths = (expand_home(path, self.judged.home) for path in named)
        return tuple(dict.fromkeys(path for path in paths if path is not None))

    @property
    def policy_sha256(self) -> str:
        """The digest of the policy's text as it was read."""
        return sha256(self.judged.file.text.encode()).hexdigest()


def judge(
    *,
    name: str | None,
    policy_file: str | None,
    environ: Mapping[str, str] | None = None,
    is_change: bool = False,
) -> Judged:
    """Find, read and compile a policy; UsageError, PolicyError.

    `is_change`: a file that has changed since it was trusted is read, to be compared.
    """
    environ = os.environ if environ is None else environ
    on_disk = find_places(environ)
    file = (
        read_policy(on_disk, policy_file, is_change=is_change)
        if policy_file is not None
        else find_policy(on_disk, name or "")
    )
    source = policy_file or _shown(file.path, home_folder(environ))
    read = load_strangers if file.kind is PolicyKind.TRUSTED else load
    loaded = read(file.text, source)
    policy = loaded.policy
    if name is not None and policy.name != name:
        raise UsageError(
            f"policy file '{file.path}' names itself '{policy.name}', expected '{name}'",
            hint=f"write name: {name}, or rename the file",
        )
    home = home_folder(environ)
    if policy.package is not None and policy.package.unpinned:
        from mcp_jail.proxy.unpinned import with_registry  # noqa: PLC0415 - few policies need it

        policy = with_registry(policy, home, environ)
    book = compile_rules(policy, loaded.places, home=home, cwd=declared_cwd(policy, home))
    return Judged(file, policy, loaded.places, book, on_disk, home, source)


def prepare(
    *,
    name: str | None,
    policy_file: str | None,
    command: tuple[str, ...],
    environ: Mapping[str, str] | None = None,
    client_cwd: str | None = None,
    stand_in: bool = False,
    is_settled_later: bool = False,
) -> Prepared:
    """All values of a run; raises the errors of `judge`, LaunchMismatchError, JailBuildError.

    A PolicyError, too, names what the policy wants and this machine has not: missing directories,
    shares that are refused; all at once.

    With `stand_in`, a jail without a command is planned around one that does nothing, for those
    who only look at it. With `is_settled_later`, the caller settles the package before `go`.
    """
    environ = os.environ if environ is None else environ
    judged = judge(name=name, policy_file=policy_file, environ=environ)
    return with_jail(
        judged,
        command,
        environ,
        client_cwd=client_cwd,
        stand_in=stand_in,
        is_settled_later=is_settled_later,
    )


def with_jail(
    judged: Judged,
    command: tuple[str, ...],
    environ: Mapping[str, str],
    *,
    client_cwd: str | None = None,
    stand_in: bool = False,
    is_settled_later: bool = False,
) -> Prepared:
    """A judged policy with the jail of a command; raises what `prepare` does beside `judge`."""
    policy, home = judged.policy, judged.home
    words = words_of(policy, command, home)
    stands_in = standing_for(policy, words) if client_cwd is None else client_cwd
    package = packaged(
        policy,
        judged.on_disk,
        words,
        is_looked_at=stand_in,
        is_settled_later=is_settled_later,
    )
    spec = jail_spec(
        policy,
        command_of(policy, words, package, stand_in=stand_in),
        home=home,
        environ=environ,
        client_cwd=stands_in,
    )
    if policy.filesystem.home is Home.KEEP:
        spec = msgspec.structs.replace(spec, keep_home=_kept_home(judged))
    if package is not None:
        spec = msgspec.structs.replace(spec, shares=(*spec.shares, *package.shares))
    audit = audit_path(judged)
    plan = _plan(judged, spec, audit, environ)
    lints = (*lint(policy, judged.places, spec), *_listening(judged, plan))
    return Prepared(judged, spec, plan, lints, audit, package=package)


def _plan(judged: Judged, spec: JailSpec, audit: str, environ: Mapping[str, str]) -> Plan:
    """The plan; PolicyError with the place of each entry that stands in its way."""
    declared = declared_cwd(judged.policy, judged.home)
    problems = Problems(judged.source, judged.file.text)
    if declared is not None and not os.path.isdir(declared):
        judged.problem(problems, ("server", "cwd"), f"'{declared}' is no directory", _CREATE)
    folder = os.path.dirname(audit)
    if judged.policy.audit.path is not None and not os.path.isdir(folder):
        message = f"the directory '{folder}' is not there"
        judged.problem(problems, ("audit", "path"), message, f"mkdir -p -m 700 {folder}")
    try:
        ours = ours_of(judged, audit)
        plan = build(spec, ours, environ=environ, declared_cwd=declared)
    except ShareError as error:
        for fault in error.faults:
            judged.problem(problems, _share_key(judged, fault.path), fault.message, fault.hint)
    except UsageError:
        if not problems.in_order():
            raise
    else:
        if declared not in {None, plan.cwd} and not problems.in_order():
            hint = f"add it to filesystem.read_only: [{declared}]"
            judged.problem(problems, ("server", "cwd"), f"'{declared}' is not shared", hint)
        if not problems.in_order():
            return plan
    raise refusal(judged.source, problems.in_order())


_CREATE = "create it, or take it out of the policy"


def _listening(judged: Judged, plan: Plan) -> Iterator[Lint]:
    """A warning for each socket file in a share: a mount does not keep anyone from connecting."""
    files = judged.policy.filesystem
    shared = [
        expand_home(text, judged.home) or "" for text in (*files.read_only, *files.read_write)
    ]
    for path in plan.listening:
        inside = (os.path.realpath(share) for share in shared)
        holding = next(
            (s for s, real in zip(shared, inside, strict=True) if lies_in(path, real)), ""
        )
        place = judged.places.get(_share_key(judged, holding))
        message = f"the server can connect to the socket '{path}', even if it may only read"
        yield Lint(place, message, "share directories beside it, or end what listens there")


def _share_key(judged: Judged, path: str) -> KeyPath:
    """The entry of the policy that shares a path."""
    files = judged.policy.filesystem
    for key, texts in (("read_only", files.read_only), ("read_write", files.read_write)):
        for index, text in enumerate(texts):
            if expand_home(text, judged.home) == path:
                return ("filesystem", key, str(index))
    kept = judged.on_disk.kept_home(judged.state_name)
    return ("filesystem", "home") if path == kept else ("server", "command")


def audit_path(judged: Judged) -> str:
    """Where the audit of a policy is written; UsageError for a path that is relative."""
    path = judged.policy.audit.path
    if path is None:
        return judged.on_disk.audit(judged.state_name)
    expanded = expand_home(path, judged.home)
    if expanded is None:
        raise UsageError(f"audit.path '{path}' is neither absolute nor begins with ~/")
    return expanded


def _kept_home(judged: Judged) -> str:
    """The directory that is HOME inside when the policy keeps it."""
    folder = judged.on_disk.kept_home(judged.state_name)
    make_private_folder(folder)
    return folder


def declared_cwd(policy: Policy, home: str) -> str | None:
    """The server's working directory that a policy names itself, None where it names none."""
    if policy.server is None or policy.server.cwd is None:
        return None
    return expand_home(policy.server.cwd, home)


_RUNNING = "mcp-jail's running jails"


def ours_of(judged: Judged, audit: str) -> tuple[Ours, ...]:
    """What no server may write, and what it may not even see."""
    places = judged.on_disk
    return (
        Ours(path=os.path.dirname(places.policies), what="mcp-jail's policies", mask=True),
        Ours(path=places.state, what="mcp-jail's audit, locks and state", mask=True),
        Ours(path=places.packages, what="mcp-jail's packages"),
        Ours(path=places.homes, what="what servers keep in their homes", mask=True),
        *(Ours(path=path, what=_RUNNING, mask=True) for path in places.runtimes),
        Ours(path=judged.file.path, what="the policy itself"),
        Ours(path=audit, what="the audit file"),
        *(Ours(path=path, what="what a secret comes from") for path in _secret_paths(judged)),
    )


def _secret_paths(judged: Judged) -> Iterator[str]:
    """Who may write what a command runs would run code outside the jail at the next start."""
    if not judged.policy.env.secret:
        return
    from mcp_jail.core.secret_sources import paths_of, secret_source  # noqa: PLC0415  # few need it

    for name, text in judged.policy.env.secret.items():
        yield from paths_of(secret_source(text, name), judged.home)


def _shown(path: str, home: str) -> str:
    """A path as people write it, the same wherever a client starts us."""
    return "~" + path[len(home) :] if path.startswith(home + "/") else path
