"""Results that come before the answer: questions first, or a task whose outcome is fetched later.

What a result asks is judged like a request of the server; one question that is refused ends the
call. The policy's roots are given by ourselves.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from mcp_jail.core.approved.listed import Standing
from mcp_jail.core.conversation import handles, questions, replies, rounds, tasks, walks
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.events import Effect, Record, ToClient, ToServer
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.passing import Passing
from mcp_jail.core.conversation.questions import Question, Refusal
from mcp_jail.core.conversation.results import Reply, Results
from mcp_jail.core.conversation.rounds import Round
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.wordless import is_cursor
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era
from mcp_jail.core.protocol.wire import BadLine, MessageId, Request
from mcp_jail.core.text import hidden


class Interim:
    """Judges what is no answer yet."""

    def __init__(
        self,
        state: State,
        results: Results,
        passing: Passing,
        forwarding: Forwarding,
        asking: Asking,
    ) -> None:
        self._state = state
        self._forwarding = forwarding
        self._results = results
        self._passing = passing
        self._asking = asking

    def asks_first(self, waiting: Waiting, raw: Raw) -> list[Effect]:
        """A result that asks the client before it answers (2026-07-28)."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return self._passing.not_passed(waiting, result.reason)
        state, wanted = result.get("requestState"), result.get("inputRequests", {})
        fault = _fault_of_round(state, wanted, waiting.number)
        if fault is not None:
            return self._passing.not_passed(waiting, fault)
        capabilities = self._state.opening.capabilities_of(waiting.era, waiting.params)
        put = [_method_and_params(each) for each in wanted.values()]
        book, look = self._state.book, self._asking.would_answer
        if unanswered := questions.unanswered(put, book, capabilities, look):
            return self._asked_later(waiting, unanswered)
        asked, ours, refused = self._judged(waiting, wanted)
        if refused is not None:
            return self._refused(waiting, refused)
        entries = [self._record(waiting, question) for question in asked.values()]
        subject = rounds.subject_of(waiting.method, waiting.params)
        round_ = Round(subject, state, asked, ours, waiting.number + 1)
        if ours and not asked:
            return self._retry_ourselves(waiting, round_)
        token = self._state.rounds.add(round_)
        passed: dict[str, Any] = {"resultType": "input_required", "requestState": token}
        if asked:
            passed["inputRequests"] = _requests(asked)
        line = wire.render_result(_client_id(waiting), passed)
        if self._passing.is_too_large(waiting, line):
            self._state.rounds.forget(token)
            return self._passing.too_large(waiting, line)
        self._state.in_flight.end(waiting)
        done = [Record(replies.result_entry(waiting, detail={"asks": sorted(asked)}))]
        return [*entries, ToClient(line, is_question=True), *done]

    def _judged(
        self, waiting: Waiting, wanted: dict[str, Any]
    ) -> tuple[dict[str, Question], dict[str, dict[str, Any]], Refusal | None]:
        """Questions that may be put, answers of ours, or the first that is refused."""
        capabilities = self._state.opening.capabilities_of(waiting.era, waiting.params)
        asked: dict[str, Question] = {}
        ours: dict[str, dict[str, Any]] = {}
        for key, request in wanted.items():
            method, params = _method_and_params(request)
            if method == questions.ROOTS:
                if not questions.roots_are_ours(self._state.book):
                    return {}, {}, questions.roots_refused(self._state.book)
                ours[key] = replies.roots_result(self._state.roots)
                continue
            # Neither progress nor a task of the legacy era belongs to it.
            params = {name: value for name, value in params.items() if name != "_meta"}
            judged = questions.judge(
                method, params, self._state.book, capabilities, self._asking.answered
            )
            if isinstance(judged, Refusal):
                return {}, {}, judged
            asked[key] = judged
        return asked, ours, None

    def _record(self, waiting: Waiting, asked: Question | Refusal) -> Record:
        return replies.question_record(waiting.id, asked, self._state.describe)

    def _refused(self, waiting: Waiting, refused: Refusal) -> list[Effect]:
        """End a request whose server asks for what it may not have."""
        self._state.in_flight.end(waiting)
        self._state.tally.denials += 1
        text = replies.question_text(refused)
        line = replies.refusal_in_words(_client_id(waiting), waiting.treatment, waiting.era, text)
        return [
            self._record(waiting, refused),
            ToClient(line),
            replies.question_told(refused, waiting.tool),
            Record(replies.result_entry(waiting, is_error=True)),
        ]

    def _asked_later(self, waiting: Waiting, wanted: list[Refusal]) -> list[Effect]:
        """End a request whose server asks what a person has to allow first; it is made again."""
        effects, code, text = self._asking.later(wanted)
        self._state.in_flight.end(waiting)
        line = replies.refusal_in_words(
            _client_id(waiting), waiting.treatment, waiting.era, text, code=code
        )
        ended = Record(replies.result_entry(waiting, is_error=True, detail={"code": code}))
        return [*effects, ToClient(line), ended]

    def _retry_ourselves(self, waiting: Waiting, round_: Round) -> list[Effect]:
        """Only the policy's roots were asked for: nobody needs to be troubled with that."""
        if not self._is_approved_still(waiting):
            reason = "it is not in the approved catalogue any more"
            return self._passing.give_up(waiting, reason, mcp.DENIED)
        self._state.in_flight.end(waiting)
        id = self._state.in_flight.fresh_id()
        request = Request(_client_id(waiting), waiting.method, waiting.params)
        sent = self._forwarding.forward(
            request,
            waiting.treatment,
            id=id,
            tool=waiting.tool,
            retry=rounds.retry_of(round_, {}).members,
            number=round_.number,
        )
        return [Record(replies.repeated_entry(id, waiting, sorted(round_.ours))), sent]

    def _is_approved_still(self, waiting: Waiting) -> bool:
        """Whether the lock would not refuse a call that it let pass a moment ago."""
        kind = walks.kind_needed(waiting.treatment, is_uri=False)
        catalogue = self._state.catalogue
        if kind is None or not catalogue.is_enabled:
            return True
        standing = catalogue.standing(kind, waiting.tool)
        return standing in {Standing.APPROVED, Standing.UNSEEN}

    # Tasks

    def began_task(self, waiting: Waiting, raw: Raw) -> list[Effect]:
        """A call that became a task."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return self._passing.not_passed(waiting, result.reason)
        if not self._may_be_task(waiting):
            return self._passing.not_passed(
                waiting, "a task, which the client did not offer to wait for"
            )
        task = result if waiting.era is Era.MODERN else result.get("task")
        begun = None
        if type(task) is dict:
            begun = self._state.tasks.add(task.get("taskId"), waiting.tool, waiting.era)
        if begun is None or type(task) is not dict:
            return self._passing.not_passed(waiting, "a task without an id of its own")
        told = tasks.state_of(result) | ({} if task is result else {"task": tasks.status_of(task)})
        return self._passing.passed(waiting, self._results.task(told, waiting.era), raw)

    def _may_be_task(self, waiting: Waiting) -> bool:
        is_asked = waiting.era is Era.MODERN or "task" in waiting.params
        return is_asked and self._state.opening.takes_tasks(waiting.era, waiting.params)

    def of_task(self, waiting: Waiting, raw: Raw) -> list[Effect]:
        """The state or the outcome of a task of this run."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return self._passing.not_passed(waiting, result.reason)
        id = waiting.params.get("taskId")
        task = self._state.tasks.get(id)
        related = handles.related_task(result)
        if task is None or result.get("taskId", id) != id or related not in {None, id}:
            return self._passing.not_passed(waiting, "the state of another task")
        asks_more = result.keys() & {"requestState", "task"}
        if result.get("resultType", "complete") != "complete" or asks_more:
            return self._passing.not_passed(waiting, "it is no state of a task but asks for more")
        told, effects = self.task_told(task, result, waiting)
        reply = self._results.task(told, waiting.era)
        if related is not None:
            kept = handles.with_related_task(reply.result, task.id)
            reply = msgspec.structs.replace(reply, result=kept)
        return [*effects, *self._passing.passed(waiting, reply, raw)]

    def task_told(
        self, task: tasks.Task, said: dict[str, Any], waiting: Waiting
    ) -> tuple[dict[str, Any], list[Effect]]:
        """What a server says of a task, with the questions in it that may be put (2026-07-28)."""
        if waiting.method != "tasks/result":  # that has the members of the call's own result
            said = tasks.state_of(said)
        wanted = said.get("inputRequests")
        if wanted is None:
            return said, []
        if type(wanted) is not dict or task.era is Era.LEGACY:
            wanted = {}
        effects: list[Effect] = []
        asked: dict[str, Question] = {}
        answers: dict[str, Any] = {}
        for key, request in wanted.items():
            if key in task.asked:
                asked[key] = task.asked[key]
            elif key not in task.answered and not hidden.has_hidden(key):
                one, ours, refused = self._judged(waiting, {key: request})
                effects += self._refused_to_task(task, waiting, refused)
                for question in one.values():
                    if tasks.note_question(task, key, question):
                        effects.append(self._record(waiting, question))
                        asked[key] = question
                answers |= ours if ours and tasks.note_roots(task, key) else {}
        if answers:
            effects.append(self._answer_task(task, answers, waiting))
        return said | {"inputRequests": _requests(asked)}, effects

    def _refused_to_task(
        self, task: tasks.Task, waiting: Waiting, refused: Refusal | None
    ) -> list[Effect]:
        """What is written down of a question that is left out; a task may ask without end."""
        if refused is not None and refused.decision.verdict is Verdict.ASK:
            # Whoever asks about the task again finds the question in it, once it is allowed.
            return self._asking.later([refused])[0]
        if refused is None or not self._state.tally.question_refused():
            return []
        told = replies.question_told(refused, task.tool)
        return [self._record(waiting, refused), told]

    def _answer_task(self, task: tasks.Task, answers: dict[str, Any], waiting: Waiting) -> ToServer:
        """Tell a task the policy's roots."""
        params = {"taskId": task.id, "inputResponses": answers}
        if "_meta" in waiting.params:
            params["_meta"] = waiting.params["_meta"]
        return self._forwarding.ours("tasks/update", waiting.era, params)

    def outcome_told(self, said: dict[str, Any]) -> dict[str, Any]:
        """What a notification says of a task, held like the answer to asking for it."""
        return self._results.task(said, Era.MODERN).result

    def listed(self, waiting: Waiting, raw: Raw) -> Reply | BadLine:
        """A listing of tasks, without those of other runs."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return result
        listed = result.get("tasks")
        if type(listed) is not list:
            return BadLine("a list of another shape", wire.INVALID_REQUEST)
        if not is_cursor(result.get("nextCursor")):
            return BadLine("a cursor that is none", wire.INVALID_REQUEST)
        known = [
            tasks.status_of(task)
            for task in listed
            if type(task) is dict and self._state.tasks.get(task.get("taskId")) is not None
        ]
        kept = {name: result[name] for name in ("nextCursor",) if name in result}
        return self._results.task(kept | {"tasks": known}, waiting.era)


def _fault_of_round(state: Any, wanted: Any, number: int) -> str | None:
    """Why a result that asks is none, or one too many."""
    if type(wanted) is not dict or not (state is None or type(state) is str):
        return "questions of another shape"
    if not wanted and state is None:
        return "it asks for nothing and is no answer"
    if number >= rounds.ROUNDS_OF_ONE_REQUEST:
        return "it asked too often"
    if len(wanted) > rounds.QUESTIONS_OF_ONE_ROUND:
        return "it asked too much at once"
    if any(map(hidden.has_hidden, wanted)):
        return "a question under a name with hidden characters"
    return None


def _requests(asked: dict[str, Question]) -> dict[str, Any]:
    """Questions as a client is asked them."""
    return {key: {"method": each.method, "params": each.params} for key, each in asked.items()}


def _client_id(waiting: Waiting) -> MessageId:
    """The client's id of a request of its own; 0 and "" are ids like any other."""
    return "" if waiting.client_id is None else waiting.client_id


def _method_and_params(request: Any) -> tuple[str, dict[str, Any]]:
    if type(request) is not dict:
        return "", {}
    method, params = request.get("method"), request.get("params", {})
    return method if type(method) is str else "", params if type(params) is dict else {}
