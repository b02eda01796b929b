"""The policy file while the server runs: looked at between messages, taken up when it is whole.

A file that cannot be read, is invalid, is no more trusted or is gone is refused loudly, and what
held goes on to hold. A trusted one that was only narrowed is taken up.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from mcp_jail.core.conversation.events import PolicyChanged, PolicyRefused, PolicyRestored
from mcp_jail.core.narrower import only_narrows
from mcp_jail.core.policy import Policy
from mcp_jail.core.reloading import needing_restart, taken_up
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.core.sha256 import sha256
from mcp_jail.errors import JailError, UsageError
from mcp_jail.proxy.prepare import Judged, declared_cwd, judge
from mcp_jail.store.policies import PolicyKind
from mcp_jail.store.trust import record_path

# Seconds between two looks while messages pass; one look is a stat(2) or two.
LOOK_SECONDS: Final = 0.25

# Inode, size, and when content and mode were changed last, which nobody sets back.
_Version = tuple[tuple[int, int, int, int] | None, ...]


class PolicyKeeping:
    """The policy file of one run; `clock` is monotonic, in seconds."""

    def __init__(self, judged: Judged, clock: Callable[[], float]) -> None:
        self._judged = judged
        self._policy: Policy = judged.policy
        self._started: Policy = judged.policy
        self._clock = clock
        self._paths = _paths(judged)
        self._version = self._versions()
        self._is_refused = False
        self._next_look = clock() + LOOK_SECONDS

    def look(self) -> PolicyChanged | PolicyRefused | PolicyRestored | None:
        """What became of the file since the last time, None where nothing did."""
        now = self._clock()
        if now < self._next_look:
            return None
        self._next_look = now + LOOK_SECONDS
        version = self._versions()
        if version == self._version:
            return None
        self._version = version
        was_refused, self._is_refused = self._is_refused, False
        try:
            changed = self._changed(self._read())
        except JailError as error:
            self._is_refused = True
            place = f" ({error.where})" if error.where is not None else ""
            return PolicyRefused(f"{error.message}{place}")
        return PolicyRestored() if changed is None and was_refused else changed

    def seconds_left(self, now: float) -> float:
        """When the file is to be looked at again."""
        return max(0.0, self._next_look - now)

    def _read(self) -> Judged:
        """The file as it is now, found as it was at the start."""
        is_named = self._judged.file.kind is not PolicyKind.TRUSTED
        if not is_named:
            return self._trusted()
        judged = judge(name=self._judged.policy.name, policy_file=None)
        was_roots = self._judged.file.kind is PolicyKind.SYSTEM
        if was_roots and judged.file.kind is not PolicyKind.SYSTEM:
            # Or the user's own of that name would hold, which a root's policy is there to prevent.
            raise UsageError(f"there is no '{self._judged.file.path}' any more")
        return judged

    def _trusted(self) -> Judged:
        """A file from elsewhere: as it was trusted, or narrower than what holds.

        Who may write it may then deny more, and a run does not go on with what was taken back.
        """
        path = self._judged.file.path
        try:
            return judge(name=None, policy_file=path)
        except UsageError:
            changed = judge(name=None, policy_file=path, is_change=True)
            if not only_narrows(self._judged.policy, changed.policy):
                raise
            return changed

    def _changed(self, judged: Judged) -> PolicyChanged | None:
        policy = taken_up(self._policy, judged.policy)
        restart = needing_restart(self._started, judged.policy)
        is_same = policy == self._policy and judged.file.text == self._judged.file.text
        if is_same and judged.file.path == self._judged.file.path:
            return None
        self._judged, self._policy = judged, policy
        cwd = declared_cwd(policy, judged.home)
        book = compile_rules(policy, judged.places, home=judged.home, cwd=cwd)
        return PolicyChanged(book, restart, sha256(judged.file.text.encode()).hexdigest())

    def _versions(self) -> _Version:
        return tuple(_version(path) for path in self._paths)


def _paths(judged: Judged) -> tuple[str, ...]:
    """The files that may hold the policy: one of root's that comes later wins.

    Or the one from elsewhere, and the note that it is trusted.
    """
    if judged.file.kind is PolicyKind.TRUSTED:
        return (judged.file.path, record_path(judged.on_disk, judged.file.path))
    name = judged.policy.name
    return (judged.on_disk.system_policy(name), judged.on_disk.policy(name))


def _version(path: str) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
