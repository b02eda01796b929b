"""What has become of wrapped files: entries that came back bare, new ones, programs that are gone.

Where nothing was ever wrapped, a bare entry is no finding. Once a person wrapped a file, or all of
them, it is: a client may have written its own copy over ours, or somebody may have added a server.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Final

import msgspec

from mcp_jail.clients.catalogue import Scope
from mcp_jail.clients.denied import CommandLists, command_lists
from mcp_jail.clients.document import DocumentError
from mcp_jail.clients.known_launch import is_digested, is_for
from mcp_jail.clients.marks import mark_of, may_start
from mcp_jail.clients.obstacles import obstacles
from mcp_jail.clients.opening import Opened, open_target
from mcp_jail.clients.our_entries import PROGRAM, Ours, same_program
from mcp_jail.clients.plans import faulty
from mcp_jail.clients.replacing import is_kept
from mcp_jail.clients.servers import Server, State
from mcp_jail.clients.started_in import started_in
from mcp_jail.clients.targets import ROWS, Ground, Target
from mcp_jail.clients.used_policies import watched
from mcp_jail.config import load
from mcp_jail.core.packages import pinned
from mcp_jail.errors import JailError, UsageError
from mcp_jail.sandbox.protected import lies_in
from mcp_jail.store.files import FileError
from mcp_jail.store.places import Places, checked_name
from mcp_jail.store.policies import find_policy, policy_names, read_policy
from mcp_jail.store.wrapped import WrappedFile, all_wrapped, is_all_wrapped


class What(Enum):
    """The kinds of findings."""

    REVERTED = "reverted"
    ADDED = "added"
    DANGLING = "dangling"
    FOREIGN = "foreign"
    NO_POLICY = "no-policy"
    ELSEWHERE = "elsewhere"
    NO_SERVER = "no-server"
    NO_COMMAND = "no-command"
    OTHER_COMMAND = "other-command"
    UNREADABLE = "unreadable"
    BARE = "bare"
    LEFT = "left"
    GONE = "gone"
    DENIED = "denied"
    NO_KEY = "no-key"


class Finding(msgspec.Struct, frozen=True):
    """One thing about one entry or file, and what mends it. `fails` where it should be mended."""

    what: What
    path: str
    server: str
    message: str
    cure: str
    fails: bool = True


def look_at_clients(places: Places, ground: Ground, program: str) -> list[Finding]:
    """All findings: damaged records of ours, then file by file."""
    records, wrong = all_wrapped(places)
    known = {wrapped.path: wrapped for wrapped in records}
    looking = _Looking(places, ground, program, is_all=is_all_wrapped(places))
    found = [
        Finding(What.UNREADABLE, places.state, "", error.message, error.hint) for error in wrong
    ]
    found += looking.obstructed(ground, known)
    for target in watched(ground, known):
        found += looking.at(target, known.get(os.path.realpath(target.path)))
    return found + [_gone(known[path]) for path in sorted(known) if _is_gone(known[path])]


def _is_gone(known: WrappedFile) -> bool:
    return known.is_wrapped and not os.path.lexists(known.path)


def _gone(known: WrappedFile) -> Finding:
    """A wrapped file that its client or a person removed; what we kept of it is still here."""
    kept = known.original
    message = "was wrapped, and is not there any more"
    if kept is not None and is_kept(kept):
        message += f"; its first original, with what secrets it had, is kept: '{kept.path}'"
    cure = f"mcp-jail unwrap {shlex.quote(known.path)}"
    return Finding(What.GONE, known.path, "", message, cure, fails=False)


class _Looking:
    """What is the same for all files."""

    def __init__(self, places: Places, ground: Ground, program: str, *, is_all: bool) -> None:
        self._places, self._ground = places, ground
        self._home = ground.home
        self._is_ours = same_program(program, ground.environ)
        self._policies = frozenset(policy_names(places))
        self._is_all = is_all

    def at(self, target: Target, known: WrappedFile | None) -> list[Finding]:
        """The findings of one file."""
        try:
            opened = open_target(target, self._is_ours)
        except (DocumentError, FileError) as error:
            return self._unreadable(target, known, error)
        except Exception as fault:  # noqa: BLE001 - the other files are to be looked at all the same
            (told,) = faulty(target, fault).outcomes
            return [Finding(What.UNREADABLE, target.path, "", told.reason, told.hint)]
        lists = command_lists(self._ground, target, (each for each, _ in opened.servers[:1]))
        servers = [_as_wrap_sees(server, lists) for _, server in opened.servers]
        found = [each for server in servers for each in self._entry(target, server, known)]
        found += self._denied(target, servers, lists)
        return [*dict.fromkeys(found)] or self._bare(target, opened, known)

    def obstructed(self, ground: Ground, known: dict[str, WrappedFile]) -> list[Finding]:
        """Places that cannot be looked at; they fail where what is in them was to be wrapped."""
        wrapped = [path for path, each in known.items() if each.is_wrapped]
        return [
            Finding(
                What.UNREADABLE,
                each.path,
                "",
                each.told,
                "make it readable, or take it away",
                fails=(self._is_all and each.row.scope is not Scope.PROJECT)
                or any(lies_in(path, each.path) for path in wrapped),
            )
            for each in obstacles(ground, ROWS)
        ]

    def _watches(self, target: Target, known: WrappedFile | None) -> bool:
        """Whether a person has wrapped this file, or all that there were to be."""
        is_known = known is not None and known.is_wrapped
        return is_known or (self._is_all and not target.is_project)

    def _unreadable(
        self, target: Target, known: WrappedFile | None, error: DocumentError | FileError
    ) -> list[Finding]:
        """A file that says nothing; it fails nothing where nobody has wrapped it."""
        if error.message == "the file is empty":
            return []
        again = "" if known is None else " any more"
        message = f"cannot be read{again}: {error.message}"
        cure = "mend it, or restore it"
        fails = self._watches(target, known)
        return [Finding(What.UNREADABLE, target.path, "", message, cure, fails=fails)]

    def _entry(self, target: Target, server: Server, known: WrappedFile | None) -> list[Finding]:
        """What is amiss with an entry; nothing where it certainly starts nothing here."""
        if server.ours is not None and server.launch is not None:
            return self._ours(target, server, server.ours, known)
        was_wrapped = known is not None and any(each.path == server.place for each in known.entries)
        if not self._watches(target, known) or not may_start(server):
            return []
        if was_wrapped:
            message = (
                "was wrapped and is not any more; its client wrote its own copy, or somebody did"
            )
            return [self._finding(What.REVERTED, target, server, message)]
        mark = mark_of(server)
        if server.is_inert or (known is not None and mark in known.left):
            return []
        if known is not None and mark in known.told:
            why = server.reason or "mcp-jail wrap tells why"
            message = f"was here when you wrapped the others, and could not be wrapped: {why}"
            return [self._finding(What.LEFT, target, server, message, fails=False)]
        message = "is not wrapped, and was not here, or not like this, when you wrapped the others"
        return [self._finding(What.ADDED, target, server, message)]

    def _denied(
        self, target: Target, servers: list[Server], lists: CommandLists
    ) -> Iterator[Finding]:
        """Wrapped entries whose own command their client was told to deny since."""
        for server in servers:
            words = server.ours.command if server.ours is not None else ()
            why, is_own = lists.why_denied(server, words) if words else ("", False)
            if why:
                cure = self._command("unwrap", target, server) if is_own else _OUT_OR_STRIKE
                yield Finding(What.DENIED, target.path, server.name, why, cure)
            elif words and (told := lists.elsewhere(server, words)):
                cure = _OTHERS_WORD
                yield Finding(What.DENIED, target.path, server.name, told, cure, fails=False)

    def _ours(
        self, target: Target, server: Server, ours: Ours, known: WrappedFile | None
    ) -> list[Finding]:
        again = self._command("unwrap", target, server), self._command("wrap", target, server)
        cure = " && ".join(again) if ours.command else "make it start mcp-jail, or take it out"
        if os.path.isabs(ours.program) and not os.access(ours.program, os.X_OK):
            message = f"starts '{ours.program}', which is not there"
            return [Finding(What.DANGLING, target.path, server.name, message, cure)]
        if ours.why_not:
            message, cure = f"is no entry of mcp-jail: {ours.why_not}", server.hint or cure
            return [Finding(What.FOREIGN, target.path, server.name, message, cure)]
        if ours.policy is not None and not self._has_policy(ours.policy):
            message = f"goes by the policy '{ours.policy}', which is not there"
            return [Finding(What.NO_POLICY, target.path, server.name, message, cure)]
        is_known = known is not None and known.is_wrapped
        found = (
            self._of_command(target, server, ours, cure, is_known=is_known)
            if ours.policy
            else self._of_words(server)
        )
        return [
            Finding(what, target.path, server.name, message, cure, fails=cure != _LOOK)
            for what, message, cure in found
        ]

    def _of_words(self, server: Server) -> Iterator[tuple[What, str, str]]:
        """An entry that goes by no policy of the user's directory; it is somebody's own work."""
        words = () if server.launch is None else server.launch.words[2:]  # behind `run`
        first, second, *_ = (*words, "", "")
        file = second if first == "--policy" else first.removeprefix("--policy=")
        if not first.startswith("--policy") or not file:
            message = f"starts '{PROGRAM} run', which is no server behind a policy"
            yield What.NO_SERVER, message, _TAKE_OUT
            return
        try:
            read_policy(self._places, file)
        except JailError as error:
            yield What.ELSEWHERE, f"cannot start: {error.message}", _TAKE_OUT
        else:
            yield What.ELSEWHERE, f"goes by a policy file that you trusted: '{file}'", _LOOK

    def _of_command(
        self, target: Target, server: Server, ours: Ours, anew: str, *, is_known: bool
    ) -> Iterator[tuple[What, str, str]]:
        """A command that is another than its policy is for, or is not there."""
        if not ours.command:
            return
        with suppress(JailError):  # then it is the policy that is told of
            file = find_policy(self._places, ours.policy or "")
            policy = load(file.text, file.path).policy
            cwd = started_in(target.path, server.row, server.launch)
            fits = is_for(self._places, self._home, file.text, policy, ours.command, cwd=cwd)
            if fits is False and not is_known and is_digested(file.text):
                message = (
                    f"goes by the policy '{ours.policy}', which says by a digest what it is for: "
                    "the key of that digest is gone, or this is another command"
                )
                yield What.NO_KEY, message, f"look at the command; if it is yours: {anew}"
            elif fits is False:
                message = f"starts another command than its policy '{ours.policy}' is for"
                yield What.OTHER_COMMAND, message, f"{_TAKE_OUT}; else: mcp-jail diff {ours.policy}"
            elif pinned(policy.package) is None and self._is_gone(ours.command[0]):
                yield What.NO_COMMAND, f"its command '{ours.command[0]}' is not there", _PUT_BACK

    def _is_gone(self, program: str) -> bool:
        """Whether the path of a program leads nowhere; a name may be on its client's PATH."""
        path = self._home + program[1:] if program.startswith("~/") else program
        is_path = os.path.isabs(path) and len(path.split()) == 1
        return is_path and not os.access(path, os.X_OK)

    def _has_policy(self, name: str) -> bool:
        try:
            return checked_name(name) in self._policies
        except UsageError:
            return False

    def _bare(self, target: Target, opened: Opened, known: WrappedFile | None) -> list[Finding]:
        """One line for a file that nobody wrapped; it fails nothing."""
        bare = [server for _, server in opened.servers if server.state is State.BARE]
        if not bare or self._watches(target, known):
            return []
        message = f"{len(bare)} not wrapped: {', '.join(server.name for server in bare)}"
        cure = f"mcp-jail wrap {target.path}"
        return [Finding(What.BARE, target.path, "", message, cure, fails=False)]

    def _finding(
        self, what: What, target: Target, server: Server, message: str, *, fails: bool = True
    ) -> Finding:
        cure = self._command("wrap", target, server)
        if server.state is State.BARE:
            return Finding(what, target.path, server.name, message, cure, fails=fails)
        mend = server.hint or "mend it, or take it out"
        if what is What.LEFT:  # the command would only leave it again
            cure = f"nothing to do, if it is yours as it is; else: {mend}"
        else:
            message += f"; wrap leaves it: {server.reason}"
            once = f"; else, to have it told only: {cure}" if what is What.ADDED else ""
            cure = f"if it is yours: {mend}{once}"
        return Finding(what, target.path, server.name, message, cure, fails=fails)

    def _command(self, verb: str, target: Target, server: Server) -> str:
        return f"mcp-jail {verb} {shlex.quote(target.path)} --server {shlex.quote(server.name)}"


def _as_wrap_sees(server: Server, lists: CommandLists) -> Server:
    """An entry that its client was told to deny is one that `wrap` refuses."""
    words = () if server.launch is None else server.launch.words
    why, _ = lists.why_denied(server, words) if server.state is State.BARE else ("", False)
    if not why:
        return server
    return msgspec.structs.replace(server, state=State.REFUSED, reason=why, hint=_OUT_OR_STRIKE)


_TAKE_OUT: Final = "take the entry out, if it is not yours"
_OUT_OR_STRIKE: Final = "take the entry out; or, if it is to start, the line of that list"
_OTHERS_WORD: Final = "nothing to do; to have it denied, say so in your own settings of the client"
_PUT_BACK: Final = "put it back, or take the entry out"
_LOOK: Final = "look at it with mcp-jail show --policy FILE"  # as it may be meant, it fails nothing
