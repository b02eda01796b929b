"""Asks as notifications on the desktop, each shown by a program of the keeper.

Only a few at a time: the next is shown when one is answered or gone. Where a person has no desktop
nothing is started. What a notification shows has its secrets taken out, and where that changed
something it offers no Allow, as nobody would see what is allowed. Where an answer was not taken the
ask is shown once more, without buttons and with the reason: whoever pressed one should know.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from mcp_jail.asks.notice import Notice, Said, notice_line, read_said
from mcp_jail.core.conversation.asks import Answer, Ask, Lasts
from mcp_jail.core.conversation.events import Answered, AskOver, AskPerson, FromPerson, NotAnswered
from mcp_jail.core.policy import Verdict
from mcp_jail.errors import JailError
from mcp_jail.sandbox.keeper import Keeper

# Notifications at one time. More would be a wall of them; the others wait their turn.
SHOWN_LIMIT: Final = 3

# How an answer that came this way is called in the audit.
BY: Final = "desktop"

_PROGRAM: Final = "mcp_jail.asks.notify"
_CHUNK: Final = 4 * 1024

# The arguments of a call as they may be shown, and whether that is all of them.
Shown = Callable[[dict[str, Any]], tuple[str, bool]]


class OnDesktop:
    """The notifications of one run; `fault_of` says why a service's process is not believed."""

    def __init__(
        self,
        keeper: Keeper,
        server: str,
        shown: Shown,
        *,
        seconds: Callable[[], float],
        is_wanted: Callable[[], bool],
        fault_of: Callable[[int], str | None],
        bus: str = "",
    ) -> None:
        self._keeper = keeper
        self._server = server
        self._shown = shown
        self._seconds = seconds
        self._is_wanted = is_wanted
        self._fault_of = fault_of
        self._bus = bus
        self._waiting: list[_Waiting] = []
        self._cards: dict[int, _Card] = {}

    @property
    def is_busy(self) -> bool:
        """Whether something is shown."""
        return bool(self._cards)

    def show(self, effect: AskPerson | AskOver) -> None:
        """Show an ask, or take it away."""
        if isinstance(effect, AskPerson):
            if self._is_wanted():
                self._waiting.append(_Waiting(effect.ask))
        else:
            self._waiting = [each for each in self._waiting if each.ask != effect.ask]
            for card in self._cards.values():
                if card.ask == effect.ask:
                    card.take_away()
        self._show_next()

    def wanted(self) -> dict[int, int]:
        """The descriptors that tell of an answer or the end of a card."""
        return dict.fromkeys(self._cards, select.POLLIN)

    def serve(self, ready: dict[int, int]) -> Iterator[FromPerson]:
        """Hear what was answered; each event is to be handled before the next is taken."""
        for fd in [each for each in ready if each in self._cards]:
            card = self._cards[fd]
            if not card.read():
                continue
            del self._cards[fd]
            said = read_said(bytes(card.output))
            card.close()
            if said is not None:
                yield from self._answered(card.ask, said)
            self._show_next()

    def close(self) -> None:
        """Take everything away."""
        for card in self._cards.values():
            card.take_away()
            card.close()
        self._cards, self._waiting = {}, []

    def _answered(self, ask: Ask, said: Said) -> Iterator[FromPerson]:
        fault = self._fault_of(said.pid)
        if fault is None:
            answer = Answer(verdict=Verdict(said.answer), lasts=Lasts.ONCE, by=BY)
            yield Answered(ask.ticket, answer)
            return
        self._waiting.append(_Waiting(ask, fault))
        yield NotAnswered(ask.ticket, BY, fault)

    def _show_next(self) -> None:
        while self._waiting and len(self._cards) < SHOWN_LIMIT:
            waiting = self._waiting.pop(0)
            try:
                card = self._begin(waiting.ask, waiting.refused)
            except (JailError, OSError):
                self._waiting = []  # the other ways to answer are there
                return
            self._cards[card.fd] = card

    def _begin(self, ask: Ask, refused: str) -> _Card:
        text, is_whole = self._shown(ask.arguments)
        notice = Notice(
            ticket=ask.ticket,
            server=self._server,
            tool=ask.name or ask.method,
            arguments=text,
            seconds=self._seconds(),
            whole=is_whole,
            refused=refused,
            bus=self._bus,
        )
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        try:
            started = self._keeper.assist(_PROGRAM, stdin=theirs_in, stdout=theirs_out)
        except JailError:
            os.close(ours_in)
            raise
        else:
            with suppress(BrokenPipeError):
                os.write(ours_out, notice_line(notice))  # below the size of a pipe
        finally:
            for fd in (theirs_in, theirs_out, ours_out):
                os.close(fd)
        os.set_blocking(ours_in, False)  # the standard library's own argument
        return _Card(ask, ours_in, started.pidfd)


class _Waiting(NamedTuple):
    """An ask that is to be shown, and what an answer to it was not taken from."""

    ask: Ask
    refused: str = ""


class _Card:
    """One notification: the pipe its program writes to, and the program."""

    def __init__(self, ask: Ask, fd: int, pidfd: int) -> None:
        self.ask = ask
        self.fd = fd
        self.output = bytearray()
        self._pidfd = pidfd

    def read(self) -> bool:
        """Read what is there; whether that was all."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return False
        self.output += data
        return not data or len(self.output) > _CHUNK

    def take_away(self) -> None:
        """Have the program take its notification away."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM)

    def close(self) -> None:
        """Let go of the program."""
        os.close(self.fd)
        os.close(self._pidfd)


def shown_by(
    redact: Callable[[dict[str, Any], bytes], msgspec.Raw | None],
) -> Shown:
    """Shows arguments as the audit would hold them; they are whole where nothing was taken out."""

    def shown(arguments: dict[str, Any]) -> tuple[str, bool]:
        encoded = msgspec.json.encode(arguments)
        redacted = redact(arguments, encoded)
        if redacted is None:
            return "(not shown, as the policy keeps none)", False
        text = bytes(redacted).decode()
        return text, msgspec.json.decode(text) == arguments

    return shown
