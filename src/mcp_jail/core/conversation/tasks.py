"""Tasks: calls whose answer comes later (2025-11-25, and the extension of 2026-07-28).

A task id is a bearer handle: whoever names it gets the result. So an id counts only if this run's
server gave it out for a call that was allowed, and what is asked inside a task is judged as if the
call had asked it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.protocol.mcp import Era

# Tasks of one run; the oldest is forgotten first.
TASKS_LIMIT: Final = 10_000

# Characters of an id; those of the SDKs have 36.
TASK_ID_LIMIT: Final = 512

# Questions of one task that are remembered, so that only they are answered.
QUESTIONS_LIMIT: Final = 1_000


# The members of a task's state, in either era; its outcome and its questions stand beside.
_STATUS: Final = frozenset(
    {
        *("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt"),
        *("ttl", "ttlMs", "pollInterval", "pollIntervalMs"),
    }
)
_BESIDE: Final = frozenset({"result", "error", "inputRequests", "resultType", "_meta"})


class Task(msgspec.Struct, frozen=True):
    """A task, the tool it is a call of, and the questions of it that were passed on.

    `answered` are the keys under which it asked for roots and was told the policy's.
    """

    id: str
    tool: str
    era: Era
    asked: dict[str, Question] = {}
    answered: set[str] = set()


class Tasks:
    """The tasks of one run."""

    def __init__(self) -> None:
        self._by_id: dict[str, Task] = {}

    def add(self, id: Any, tool: str, era: Era) -> Task | None:
        """Note a task the server began; None for an id that is none or that another call has."""
        if type(id) is not str or not 0 < len(id) <= TASK_ID_LIMIT or id in self._by_id:
            return None
        if len(self._by_id) >= TASKS_LIMIT:
            del self._by_id[next(iter(self._by_id))]
        task = Task(id, tool, era)
        self._by_id[id] = task
        return task

    def get(self, id: Any) -> Task | None:
        """The task of an id, None where this run has none."""
        return self._by_id.get(id) if type(id) is str else None

    def is_modern(self, id: str) -> bool:
        """Whether this run has a task of this id that a client may subscribe to."""
        task = self._by_id.get(id)
        return task is not None and task.era is Era.MODERN


def status_of(said: dict[str, Any]) -> dict[str, Any]:
    """What a server says of a task, cut to the members of its state."""
    return {name: value for name, value in said.items() if name in _STATUS}


def state_of(said: dict[str, Any]) -> dict[str, Any]:
    """The same with what comes of it: the outcome, the questions."""
    return {name: value for name, value in said.items() if name in _STATUS or name in _BESIDE}


def note_question(task: Task, key: str, question: Question) -> bool:
    """Remember a question of a task; false when it has asked too much, or another under this key.

    A key must mean one question for as long as the task lives (extension, "Task Update Requests").
    """
    known = task.asked.get(key)
    if known is not None:
        return known.method == question.method and known.params == question.params
    if len(task.asked) >= QUESTIONS_LIMIT:
        return False
    task.asked[key] = question
    return True


def note_roots(task: Task, key: str) -> bool:
    """Remember that a task was told the roots; false when it has been, or has asked too much."""
    if key in task.answered or len(task.answered) >= QUESTIONS_LIMIT:
        return False
    task.answered.add(key)
    return True
