"""Where everything lies on disk.

XDG variables are not read: MCP clients hand a server only HOME and PATH, so the guard and the
commands typed by hand would look in different places. `MCP_JAIL_HOME` puts all under one folder.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Mapping

import msgspec

from mcp_jail.core.policy import NAME_PATTERN
from mcp_jail.errors import UsageError

HOME_VARIABLE = "MCP_JAIL_HOME"
SYSTEM_POLICIES = "/etc/mcp-jail/policies"
MAX_NAME_CHARS = 64

# Stands for a working directory that was removed: nothing lies or can be put below it.
NOWHERE = os.devnull


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The directories of one user; nothing is made by asking for a path."""

    policies: str
    system_policies: str
    state: str
    locks: str
    waiting: str
    trust: str
    packages: str
    homes: str
    runtime: str

    def policy(self, name: str) -> str:
        """The policy file of a name in the user's own directory."""
        return os.path.join(self.policies, f"{checked_name(name)}.yaml")

    def system_policy(self, name: str) -> str:
        """The policy file of a name that only root can write."""
        return os.path.join(self.system_policies, f"{checked_name(name)}.yaml")

    def audit(self, name: str) -> str:
        """The audit file of a name, unless its policy says another."""
        return os.path.join(self.state, f"{checked_name(name)}.jsonl")

    def lock(self, name: str) -> str:
        """The lock file of a name."""
        return os.path.join(self.locks, f"{checked_name(name)}.json")

    def pending(self, name: str) -> str:
        """What was seen of a server of this name and waits for approval."""
        return os.path.join(self.waiting, f"{checked_name(name)}.json")

    def kept_home(self, name: str) -> str:
        """The directory that becomes HOME in a jail whose policy says `home: keep`."""
        return os.path.join(self.homes, checked_name(name))

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Where running jails may be registered: here, and where there was no `runtime` yet."""
        return tuple(dict.fromkeys((self.runtime, os.path.join(self.state, "run"))))

    @property
    def state_key(self) -> str:
        """The key that argument digests are made with."""
        return os.path.join(self.state, "key")

    def run(self, run: str) -> str:
        """The registry file of a running jail."""
        return os.path.join(self.runtime, f"{run}.json")

    def socket(self, run: str) -> str:
        """The control socket of a running jail."""
        return os.path.join(self.runtime, f"{run}.sock")


def find_places(environ: Mapping[str, str] | None = None) -> Places:
    """The places of this user; UsageError if MCP_JAIL_HOME is not an absolute path."""
    environ = os.environ if environ is None else environ
    if folder := environ.get(HOME_VARIABLE):
        if not os.path.isabs(folder):
            raise UsageError(
                f"{HOME_VARIABLE} must be an absolute path, found '{folder}'",
                hint="the client decides in which directory we start",
            )
        folder = os.path.normpath(folder)
        return _places(folder, os.path.join(folder, "state"), folder, os.path.join(folder, "run"))
    home = home_folder(environ)
    state = os.path.join(home, ".local/state/mcp-jail")
    return _places(
        os.path.join(home, ".config/mcp-jail"),
        state,
        os.path.join(home, ".local/share/mcp-jail"),
        _runtime(state, home),
    )


def home_folder(environ: Mapping[str, str]) -> str:
    """HOME if it is an absolute path, else what the user database says."""
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return os.path.normpath(home)
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        raise UsageError(
            "this user has no home directory, neither in HOME nor in the user database",
            hint=f"set HOME, or {HOME_VARIABLE} to a directory of yours",
        ) from None


def working_folder() -> str:
    """The directory we stand in; empty where somebody has removed it."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def checked_name(name: str) -> str:
    """The name of a policy; UsageError for what could be another path."""
    if len(name) > MAX_NAME_CHARS or re.fullmatch(NAME_PATTERN[1:-1], name) is None:
        raise UsageError(
            f"'{name[:MAX_NAME_CHARS]}' is not a policy name",
            hint="a name has small letters, digits, dots, dashes and underscores, 64 at most; "
            "for a file of your own use --policy FILE",
        )
    return name


def _places(config: str, state: str, data: str, runtime: str) -> Places:
    return Places(
        policies=os.path.join(config, "policies"),
        system_policies=SYSTEM_POLICIES,
        state=state,
        locks=os.path.join(state, "locks"),
        waiting=os.path.join(state, "pending"),
        trust=os.path.join(state, "trust"),
        packages=os.path.join(data, "packages"),
        homes=os.path.join(data, "homes"),
        runtime=runtime,
    )


def _runtime(state: str, home: str) -> str:
    """Our part of the session's runtime directory, if there is one for this user alone.

    Only for the user's own home: what runs under another one has policies and state there, too.
    """
    if not _is_own_home(home):
        return os.path.join(state, "run")
    folder = f"/run/user/{os.geteuid()}"
    try:
        status = os.lstat(folder)
    except OSError:
        return os.path.join(state, "run")
    private = status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == stat.S_IRWXU
    if stat.S_ISDIR(status.st_mode) and private:
        return os.path.join(folder, "mcp-jail")
    return os.path.join(state, "run")


def _is_own_home(home: str) -> bool:
    try:
        return os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir) == os.path.realpath(home)
    except KeyError:
        return False
