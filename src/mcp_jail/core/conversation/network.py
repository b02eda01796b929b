"""What a server tried on its network and was refused, told to the model whose call it was.

A program says little of why it cannot connect ("fetch failed"); the model is to know that it was
the user's policy, so that it tells the person and does not try again. Whose call it was is not
known, so every call under way is told. What is heard of between two calls may be the last one's,
whose result was faster: the next one is told.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_jail.core.conversation.inflight import InFlight, Waiting
from mcp_jail.core.protocol.mcp import Treatment

# Refusals that one call is told; the audit has all.
TOLD_LIMIT: Final = 5


class Refused:
    """The refusals since each call that is under way began, and those since the last one ended."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, None]] = {}
        self._between: dict[str, None] = {}
        self._was_called = False

    def note(self, words: str, in_flight: InFlight) -> None:
        """Remember a refusal for the calls that are under way, and forget those that are not."""
        calls = [w.id for w in in_flight if w.treatment is Treatment.CALL_TOOL]
        self._of = {id: self._of.get(id, {}) for id in calls}
        # What a server tries before anything is asked of it is nobody's call.
        told = [*self._of.values()] or [self._between] * self._was_called
        for each in told:
            if len(each) < TOLD_LIMIT:
                each[words] = None

    def take(self, waiting: Waiting) -> str:
        """What a call is to be told at its end; empty when nothing was refused."""
        if waiting.treatment is not Treatment.CALL_TOOL:
            return ""
        self._was_called = True
        told = [": " + "; ".join(self._of.pop(waiting.id, ()))]
        told += [" after the last call: " + "; ".join(self._between)]
        self._between.clear()
        found = [words for words in told if not words.endswith(": ")]
        return "" if not found else "refused by the user's policy" + ", and".join(found)


def with_words(result: dict[str, Any], words: str) -> dict[str, Any]:
    """A tool's result with words of ours at its end; one of another shape as it is."""
    content = result.get("content")
    if type(content) is not list:
        return result
    return result | {"content": [*content, {"type": "text", "text": f"mcp-jail: {words}"}]}


def error_with_words(error: dict[str, Any], words: str) -> dict[str, Any]:
    """The error a call ended in, with words of ours at the end of its message."""
    return error | {"message": f"{error['message']} (mcp-jail: {words})"}
