"""What becomes of a server's answers to requests: the client's, and those of our own."""

from __future__ import annotations

from typing import Any, assert_never

from msgspec import Raw

from mcp_jail.core.approved.listed import Page
from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.conversation import network, questions, replies, rounds, walks
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.events import Effect, Record, ToClient
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.interim import Interim
from mcp_jail.core.conversation.passing import Passing, Release
from mcp_jail.core.conversation.questions import Refusal
from mcp_jail.core.conversation.results import Results
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, ResultKind, Treatment
from mcp_jail.core.protocol.wire import BadLine, Failure, Result


class Answers:
    """Passes answers on; `release` judges the calls that waited for a listing of ours."""

    def __init__(
        self, state: State, forwarding: Forwarding, asking: Asking, release: Release
    ) -> None:
        self._state = state
        self._forwarding = forwarding
        self._asking = asking
        self._release = release
        self.passing = Passing(state, release)
        self._results = Results(state)
        self.interim = Interim(state, self._results, self.passing, forwarding, asking)

    def result(self, waiting: Waiting, result: Result) -> list[Effect]:
        """What to do about a result."""
        match waiting.treatment:
            case Treatment.WALK:
                return self._walked(waiting, result.raw)
            case Treatment.OURS:
                self._state.in_flight.end(waiting)
                return []
            case Treatment.CALL_TOOL | Treatment.READ_RESOURCE | Treatment.GET_PROMPT:
                return self._bulk(waiting, result.raw)
            case Treatment.TASK:
                return self.interim.of_task(waiting, result.raw)
            case Treatment.OPEN:
                reply = self._results.opening(waiting, result.raw)
            case Treatment.LIST:
                reply = self._results.listing(waiting, result.raw)
            case Treatment.LIST_TASKS:
                reply = self.interim.listed(waiting, result.raw)
            case Treatment.LISTEN:
                reply = self._results.ended_subscription(waiting, result.raw)
            case Treatment.FORWARD | Treatment.COMPLETE:
                reply = self._results.plain(waiting, result.raw)
            case _:
                assert_never(waiting.treatment)
        return self.passing.passed(waiting, reply, result.raw)

    def failure(self, waiting: Waiting, failure: Failure) -> list[Effect]:
        """What to do about an error answer."""
        error = mcp.error_of_server(failure.error)
        if waiting.client_id is None:
            self._note_absent(waiting, error)
            return self.passing.ended_ours(waiting)
        if error is None:
            return self.passing.not_passed(waiting, "an error without code and message")
        asked: list[Effect] = []
        if error["code"] == mcp.URL_ELICITATION_REQUIRED:
            asked, error = self._pages_to_open(waiting, error)
        error = self._results.error(waiting, error)
        if refused := self._state.refused.take(waiting):
            error = network.error_with_words(error, refused)
        line = wire.render(Failure(waiting.client_id, error))
        if self.passing.is_too_large(waiting, line):
            return self.passing.too_large(waiting, line)
        self._state.in_flight.end(waiting)
        effects: list[Effect] = [*asked, ToClient(line)]
        if waiting.tool:
            entry = replies.result_entry(waiting, is_error=True, detail={"code": error["code"]})
            effects.append(Record(entry))
        return effects

    def lock_changed(self) -> None:
        """What was approved of the server may be another text now."""
        self._results.forget_metas()

    def _bulk(self, waiting: Waiting, raw: Raw) -> list[Effect]:
        members = wire.members(raw)
        if isinstance(members, BadLine):
            return self.passing.not_passed(waiting, members.reason)
        if (odd := mcp.misspelt_member(members)) is not None:
            return self.passing.not_passed(waiting, f"{quoted(odd)} in another case")
        match mcp.result_kind(members):
            case ResultKind.COMPLETE:
                return self.passing.passed(waiting, self._results.bulk(waiting, raw, members), raw)
            case ResultKind.INPUT_REQUIRED if _may_ask(waiting):
                return self.interim.asks_first(waiting, raw)
            case ResultKind.TASK if waiting.treatment is Treatment.CALL_TOOL:
                return self.interim.began_task(waiting, raw)
            case _:
                return self.passing.not_passed(
                    waiting, "it is no answer, and nothing that may come first"
                )

    def _pages_to_open(
        self, waiting: Waiting, error: dict[str, Any]
    ) -> tuple[list[Effect], dict[str, Any]]:
        """The error that sends a person to web pages (2025-11-25), if each may be opened."""
        data = error.get("data")
        wanted = data.get("elicitations") if type(data) is dict else None
        if type(wanted) is not list or not 0 < len(wanted) <= rounds.QUESTIONS_OF_ONE_ROUND:
            text = "mcp-jail: the server names no page to open, or too many"
            return [], {"code": mcp.DENIED, "message": text}
        capabilities = self._state.opening.capabilities_of(waiting.era, waiting.params)
        book, put = self._state.book, [_page_to_open(each) for each in wanted]
        look, describe = self._asking.would_answer, self._state.describe
        if unanswered := questions.unanswered(put, book, capabilities, look):
            effects, code, text = self._asking.later(unanswered)
            return effects, {"code": code, "message": text}
        pages: list[questions.Question] = []
        for method, params in put:
            judged = questions.judge(method, params, book, capabilities, self._asking.answered)
            if isinstance(judged, Refusal):
                self._state.tally.denials += 1
                refused = {"code": mcp.DENIED, "message": replies.question_text(judged)}
                told = replies.question_told(judged, waiting.tool)
                return [
                    replies.question_record(waiting.id, judged, describe),
                    told,
                ], refused
            pages.append(judged)
        for page in pages:
            self._state.note_page(page)
        passed = {"elicitations": [page.params for page in pages]}
        entries = [replies.question_record(waiting.id, page, describe) for page in pages]
        return [*entries], error | {"data": passed}

    # Requests of our own

    def _note_absent(self, waiting: Waiting, error: dict[str, Any] | None) -> None:
        """A server may have templates only, and no list of resources: then it lists none."""
        if error is None or error["code"] != mcp.METHOD_NOT_FOUND:
            return
        if waiting.step is not None and waiting.step.number == 0:
            kind, era = KIND_OF_LIST[waiting.method], waiting.era.value
            if kind is ItemKind.RESOURCE:
                nothing = Page(kind, era, (), is_first=True, is_last=True, is_ours=True)
                self._state.catalogue.compare(nothing)

    def _walked(self, waiting: Waiting, raw: Raw) -> list[Effect]:
        """A page of a walk of ours: compare it, then ask for the next or judge what waited."""
        result = wire.whole(raw)
        page = None
        if not isinstance(result, BadLine):
            page, _ = self._results.page_of(waiting, result)
        if isinstance(result, BadLine) or page is None or waiting.step is None:
            return self.passing.ended_ours(waiting)
        self._state.in_flight.end(waiting)
        self._state.catalogue.compare(page)
        following = walks.next_step(waiting.step, result)
        if following is None:
            return [*self.passing.news(), *self._release(KIND_OF_LIST[waiting.method])]
        # What was found is told at the end: a page may be large, and there may be many.
        return [self._forwarding.step(waiting.method, waiting.era, following)]


def _page_to_open(params: Any) -> tuple[str, dict[str, Any]]:
    """A page as the params of a question, in which no id of progress or a task has a meaning."""
    kept = params if type(params) is dict else {}
    return questions.ELICITATION, {n: kept[n] for n in kept if n != "_meta"} | {"mode": "url"}


def _may_ask(waiting: Waiting) -> bool:
    """Whether a request may be answered with questions."""
    return waiting.era is Era.MODERN and waiting.method in mcp.ASKING_METHODS
