"""Laws of a whole conversation, with a server that answers what it was asked in hostile ways.

Unlike lines at random, these plays reach far: listings, held calls, rounds, tasks, subscriptions.
A play is made from a number, so that one that fails can be played again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_jail.core.conversation.events import (
    AuditFailed,
    Effect,
    Event,
    LockChanged,
    Record,
    ToClient,
    ToServer,
)
from mcp_jail.core.protocol import mcp
from mcp_jail.core.recorded.audit import Kind
from plays import (
    ACCEPTED,
    DECLINED,
    FORM,
    OFFERS,
    PAGE,
    PREFIX,
    PROMPTED,
    REVIEW,
    SAMPLED,
    TRUST,
    Play,
    approved,
    tool,
)

EXTENDED: Final[dict[str, Any]] = OFFERS | {"extensions": {mcp.TASKS_EXTENSION: {}}}
GOOD: Final = [tool("a"), tool("b")]
EVIL: Final = [tool("a", description="EVIL"), tool("c")]
JUDGED: Final = {"tools/call", "resources/read", "prompts/get", "tasks/get"}
ASKS: Final[dict[str, dict[str, Any]]] = {
    "a": {"method": "elicitation/create", "params": FORM},
    "b": {"method": "sampling/createMessage", "params": PROMPTED},
    "c": {"method": "elicitation/create", "params": PAGE},
    "r": {"method": "roots/list"},
    "e": {"method": "EVIL"},
}
ANSWERS: Final[dict[str, Any]] = {"a": ACCEPTED, "b": SAMPLED, "c": DECLINED}
ODD: Final[list[Any]] = [None, True, 0, 1.5, "EVIL", [], ["a"], {}, {"a": 1}, [[]]]
STATE: Final = "server's own"
POLICIES: Final[list[dict[str, Any]]] = [
    {},
    {},
    {"sampling": "deny"},
    {"roots": "deny"},
    {"elicitation": "ask"},
]
LOCKS: Final[list[Event]] = [
    *(LockChanged(lock) for lock in (None, approved(*GOOD), approved(*EVIL)) * 2),
    AuditFailed(),
]
NEWS: Final = [
    ("notifications/tools/list_changed", "_meta"),
    ("notifications/subscriptions/acknowledged", "notifications"),
    ("notifications/resources/updated", "uri"),
    ("notifications/elicitation/complete", "elicitationId"),
    ("notifications/message", "level"),
    ("notifications/cancelled", "requestId"),
    ("notifications/tasks", "inputRequests"),
    ("notifications/tasks/status", "taskId"),
]


class Hazard:
    """Plays both sides of a conversation by the dice."""

    def __init__(self, number: int, **keys: Any) -> None:
        self.dice = random.Random(number)
        dice = self.dice
        tasks: dict[str, Any] = {"capabilities": {"tasks": {"requests": {"tools": {"call": {}}}}}}
        settings: dict[str, Any] = {
            "lock": dice.choice([REVIEW, TRUST, {"enabled": False}]),
            "approved": dice.choice([None, approved(*GOOD), approved(*GOOD)]),
            **dice.choice(POLICIES),
            **keys,
        }
        era = dice.choice(["legacy", "modern", "modern"])
        self.play = Play(era, offers=EXTENDED, server=tasks, **settings)
        self.play.lists(*GOOD)
        self.number = 0

    def moves(self, count: int) -> Iterator[list[Effect]]:
        """The effects of so many moves."""
        for self.number in range(count):
            side = self.dice.random()
            if side < 0.45:
                yield self.client()
            elif side < 0.8:
                yield self.answer()
            elif side < 0.98:
                yield self.server()
            else:
                yield self.play.handle(self.dice.choice(LOCKS))

    # The client

    def client(self) -> list[Effect]:
        dice, says = self.dice, self.play.says
        name = dice.choice("aaab" + "c")
        match dice.randrange(10):
            case 0 | 1 | 2:
                task: dict[str, Any] = {"task": {}} if dice.random() < 0.3 else {}
                return says("tools/call", self.number, name=name, arguments={"x": 1}, **task)
            case 3 | 4:
                return self.retry(name)
            case 5:
                return says("tasks/update", self.number, taskId="t1", inputResponses=self.given())
            case 6:
                method = dice.choice(["tasks/get", "tasks/get", "tasks/result", "tasks/cancel"])
                return says(method, self.number, taskId=dice.choice(["t1", "t1", "t2"]))
            case 7:
                wanted = dice.choice([{"toolsListChanged": True}, {"taskIds": ["t1"]}, {}])
                return says("subscriptions/listen", self.number, notifications=wanted)
            case 8:
                return self.other(name)
            case _:
                asked = [each for each in self.play.client_got if {"method", "id"} <= each.keys()]
                id = dice.choice(asked)["id"] if asked else "EVIL"
                return self.play.replies(id, result=dice.choice([*ANSWERS.values(), *ODD]))

    def retry(self, name: str) -> list[Effect]:
        """Repeat a call with a token that the client was given."""
        results = [each.get("result") for each in self.play.client_got]
        tokens = [each["requestState"] for each in results if each and "requestState" in each]
        token = self.dice.choice(tokens[-2:] or ["EVIL"])
        more = {"inputResponses": self.given(), "requestState": token}
        return self.play.says("tools/call", self.number, name=name, arguments={"x": 1}, **more)

    def given(self) -> Any:
        """Answers to some questions, fitting ones more often than not."""
        if self.dice.random() < 0.2:
            return self.dice.choice(ODD)
        keys = self.dice.choice(["a", "ab", "abc", "b", "r", "abcr", "e", ""])
        fit = self.dice.random() < 0.8
        return {key: ANSWERS.get(key) if fit else self.dice.choice(ODD) for key in keys}

    def other(self, name: str) -> list[Effect]:
        say = self.play.says
        match self.dice.randrange(6):
            case 0:
                return say("tools/list", self.number)
            case 1:
                return say("tools/list", self.number, cursor="2")
            case 2:
                return say("prompts/get", self.number, name=name)
            case 3:
                return say("resources/read", self.number, uri="x://a")
            case 4:
                return say("tasks/list", self.number)
            case _:
                return say("notifications/cancelled", requestId=self.number - 1)

    # The server

    def answer(self) -> list[Effect]:
        """Answer one of the last requests, mostly the very last."""
        asked = [each for each in self.play.server_got if {"method", "id"} <= each.keys()]
        request = asked[-1] if self.dice.random() < 0.8 else self.dice.choice(asked[-5:])
        return self.play.answers(self.result_of(request["method"]), request["id"])

    def result_of(self, method: str) -> dict[str, Any]:
        dice = self.dice
        if dice.random() < 0.1:
            member = dice.choice(["content", "inputRequests", "resultType", "_meta", "taskId"])
            return {member: dice.choice(ODD)}
        match method:
            case "tools/list":
                tools = dice.choice([GOOD, GOOD, dice.choices([*GOOD, *EVIL], k=3), []])
                return {"tools": tools} | dice.choice([{}, {}, {"nextCursor": "2"}])
            case "tools/call" | "prompts/get":
                asks = {"resultType": "input_required", "requestState": STATE}
                task = {"taskId": "t1", "status": "working"}
                return dice.choice(
                    [
                        asks | {"inputRequests": self.questions()},
                        asks | {"inputRequests": self.questions()},
                        asks,
                        {"task": task}
                        if self.play.era == "legacy"
                        else task | {"resultType": "task"},
                        {"content": [{"type": "text", "text": "hello"}], "messages": []},
                    ]
                )
            case "tasks/get":
                state = {"taskId": "t1", "inputRequests": self.questions()}
                return dice.choice([state, state, {"taskId": "t1", "result": {"content": []}}])
            case _:
                return {"contents": [], "prompts": [{"name": "a"}], "tasks": [{"taskId": "t1"}]}

    def questions(self) -> dict[str, Any]:
        keys = self.dice.choice(["a", "ab", "abcr", "r", "b", "c", "ae", ""])
        return {key: ASKS[key] for key in keys}

    def server(self) -> list[Effect]:
        dice, play = self.dice, self.play
        match dice.randrange(4):
            case 0:
                return play.sends(id=dice.randrange(4), **ASKS[dice.choice("abcre")])
            case 1:
                pages = {"elicitations": dice.choice([[PAGE], [PAGE, FORM], *ODD])}
                return play.fails(mcp.URL_ELICITATION_REQUIRED, "no", data=pages)
            case _:
                return self.news()

    def news(self) -> list[Effect]:
        """News under the id of the last subscription."""
        listens = [
            each["id"]
            for each in self.play.server_got
            if each.get("method") == "subscriptions/listen"
        ]
        method, member = self.dice.choice(NEWS)
        params: dict[str, Any] = {
            "taskId": "t1",
            "inputRequests": self.questions(),
            "_meta": {PREFIX + "subscriptionId": listens[-1] if listens else "EVIL"},
        }
        if self.dice.random() < 0.5:
            params[member] = self.dice.choice(ODD)
        return self.play.notifies(method, **params)


def messages(effects: list[Effect], to: type[ToClient | ToServer]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(effect.line) for effect in effects if isinstance(effect, to)]


numbers = st.integers(0, 2**32)
counts = st.integers(10, 60)
many = settings(max_examples=300)


@many
@given(numbers, counts)
def test_what_is_judged_is_recorded_before_it_is_sent(number: int, count: int) -> None:
    for effects in Hazard(number).moves(count):
        recorded: dict[Any, str] = {}
        for effect in effects:
            match effect:
                case Record(entry) if entry.kind is Kind.CALL:
                    recorded[entry.id] = entry.verdict
                case ToServer() | ToClient():
                    (message,) = messages([effect], type(effect))
                    is_question = (
                        isinstance(effect, ToClient) and {"id", "method"} <= message.keys()
                    )
                    if is_question or message.get("method") in JUDGED:
                        assert recorded[message["id"]] == "allow"
                case _:
                    pass


@many
@given(numbers, counts)
def test_a_request_is_answered_at_most_once(number: int, count: int) -> None:
    hazard = Hazard(number)
    for effects in hazard.moves(count):
        answered = [each["id"] for each in messages(effects, ToClient) if "method" not in each]
        assert len(answered) == len(set(answered))
    ids = [each["id"] for each in hazard.play.client_got if "method" not in each]
    kept = [id for id in ids if type(id) is int]
    assert len(kept) == len(set(kept))
    waiting = [each.client_id for each in hazard.play.talk._state.in_flight]
    assert not set(waiting) & set(kept)


@many
@given(
    numbers, counts, st.sampled_from(["sampling", "elicitation"]), st.sampled_from(["ask", "deny"])
)
def test_no_question_that_was_not_let_through_reaches_a_client(
    number: int, count: int, key: str, verdict: str
) -> None:
    signs = {"sampling": "createMessage", "elicitation": "elicitation"}
    for effects in Hazard(number, **{key: verdict}).moves(count):
        text = str(messages(effects, ToClient))
        assert signs[key] not in text
        assert PAGE["url"] not in text or key == "sampling"
        assert "roots/list" not in text
        assert STATE not in text


@many
@given(numbers, counts)
def test_an_answer_reaches_a_server_only_for_what_it_was_let_ask(number: int, count: int) -> None:
    hazard = Hazard(number)
    policy = hazard.play.talk._state.book.policy
    for effects in hazard.moves(count):
        for sent in messages(effects, ToServer):
            params = sent.get("params", {})
            given_ = params.get("inputResponses", {})
            assert given_.keys() <= {"a", "b", "c", "r"}
            for key, answer in given_.items():
                if key == "r":
                    assert answer["roots"][0]["name"] == "/home/me/a b"
                    assert policy.roots.value == "policy"
                else:
                    assert answer == ANSWERS[key]
                    asked = policy.sampling if key == "b" else policy.elicitation
                    assert asked.value == "allow"
            assert params.get("requestState", STATE) == STATE


@many
@given(numbers, counts)
def test_what_a_lock_does_not_have_is_neither_shown_nor_called(number: int, count: int) -> None:
    hazard = Hazard(number, lock=REVIEW, approved=approved(*GOOD))
    good, asked = GOOD, hazard.play.server_got
    for effects in hazard.moves(count):
        good = [pins[-1].value for pins in hazard.play.catalogue._lock.items.values()]
        for said in messages(effects, ToClient):
            result = said.get("result")
            for shown in result.get("tools", []) if isinstance(result, dict) else []:
                assert shown in good
        for sent in messages(effects, ToServer):
            if sent.get("method") == "tools/call":
                assert sent["params"]["name"] in {each["name"] for each in good}
    assert asked


@many
@given(numbers, counts)
def test_what_is_held_has_a_walk_that_will_release_it(number: int, count: int) -> None:
    hazard = Hazard(number)
    state = hazard.play.talk._state
    for _ in hazard.moves(count):
        walking = {each.method for each in state.in_flight if each.step is not None}
        assert len(walking) == len([each for each in state.in_flight if each.step is not None])
        assert len(state.walks) == 0 or walking


def test_these_plays_reach_far() -> None:
    """Else the laws above would hold of nothing."""
    reached: set[str] = set()
    for number in range(150):
        hazard = Hazard(number)
        for _ in hazard.moves(50):
            pass
        play = hazard.play
        reached |= {str(each.get("method")) for each in play.server_got}
        reached |= {"answers" for each in play.server_got if _answers_of(each) - {"r"}}
        reached |= {"roots" for each in play.server_got if "r" in _answers_of(each)}
        reached |= {each.verdict for each in play.entries}
        reached |= {f"task {key}" for key in (_task(play).asked if _task(play) else {})}
    assert reached >= {"answers", "roots", "tasks/update", "drift", "allow", "deny", "task a"}


def _answers_of(sent: dict[str, Any]) -> set[str]:
    return set(sent.get("params", {}).get("inputResponses", {}))


def _task(play: Play) -> Any:
    return play.talk._state.tasks.get("t1")
