"""What a run counts: calls, denials, and violations of the wire with the entries they leave."""

from __future__ import annotations

from mcp_jail.core.conversation.events import Effect, Record
from mcp_jail.core.recorded.audit import Entry, Kind

# Violations written down one by one; a server that sends nothing else must not fill the disk.
VIOLATIONS_RECORDED = 1_000

# Characters of the other side's words that are repeated in an entry or an answer.
QUOTED_LENGTH = 200


class Tally:
    """The counters of one run; the end entry and `ps` show them."""

    def __init__(self) -> None:
        self.calls = 0
        self.denials = 0
        self.violations = 0
        self._questions = 0
        self._answers = 0

    def question_refused(self) -> bool:
        """Count a question of the server that was refused; whether it is still written down."""
        self.denials += 1
        self._questions += 1
        return self._questions <= VIOLATIONS_RECORDED

    def answer_refused(self) -> bool:
        """Count an answer that somebody gave who may not; whether it is still written down."""
        self._answers += 1
        return self._answers <= VIOLATIONS_RECORDED

    def violation(self, side: str, reason: str) -> list[Effect]:
        """Count something that must not be on the wire and write it down, the first thousand."""
        self.violations += 1
        if self.violations > VIOLATIONS_RECORDED:
            return []
        reason = reason[:QUOTED_LENGTH]
        return [Record(Entry(kind=Kind.WIRE, reason=reason, detail={"from": side}))]


def quoted(text: str) -> str:
    """The other side's words, short and with every control character escaped."""
    return ascii(text[:QUOTED_LENGTH])
