"""A row is what was seen from outside: what the server says about itself makes none look better."""

from __future__ import annotations

import msgspec
import pytest

from mcp_jail.demo.attempts import ATTEMPTS, TOOLS, Attempt, Evidence, Outcome, Sign, judge
from mcp_jail.demo.ground import SECRETS
from mcp_jail.demo.server import ATTEMPTS as OF_THE_SERVER
from mcp_jail.demo.server import TOOLS as TOOLS_OF_THE_SERVER

PLACES = ("answer to the model", "TCP", "UDP", "DNS", "SSH agent")

NOTHING = Evidence(
    secrets={name: f"canary-{name}" for name in SECRETS},
    received=dict.fromkeys(PLACES),
    changed=frozenset(),
    process_was_seen=False,
    process_lives_on=False,
    answered=frozenset(),
    refused={},
    told={},
)
TRIED = msgspec.structs.replace(
    NOTHING,
    process_was_seen=True,
    answered=frozenset(TOOLS),
    told=dict.fromkeys(OF_THE_SERVER, ""),
)


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)


@each()
def test_what_was_not_tried_is_never_held(attempt: Attempt) -> None:
    assert judge(attempt, NOTHING).outcome is Outcome.UNTRIED


@each()
def test_what_was_tried_and_shows_nowhere_is_held_by_something(attempt: Attempt) -> None:
    finding = judge(attempt, TRIED)
    assert finding.outcome is Outcome.HELD
    assert finding.held_by


@each()
def test_what_shows_outside_is_out_though_the_server_says_it_failed(attempt: Attempt) -> None:
    secret = TRIED.secrets.get(attempt.name, "").encode()
    seen = msgspec.structs.replace(
        TRIED,
        told=dict.fromkeys(OF_THE_SERVER, "EPERM"),
        received=dict.fromkeys(PLACES, b"so: " + secret),
        changed=frozenset({attempt.name}),
        process_lives_on=True,
    )
    for evidence in (seen, msgspec.structs.replace(seen, told={}, answered=frozenset())):
        finding = judge(attempt, evidence)
        assert finding.outcome is Outcome.OUT
        assert finding.seen


def test_a_secret_counts_wherever_it_arrives_and_only_its_own() -> None:
    (attempt,) = [one for one in ATTEMPTS if one.name == "ssh-key"]
    for place in PLACES:
        received = {**TRIED.received, place: b"x canary-ssh-key y"}
        finding = judge(attempt, msgspec.structs.replace(TRIED, received=received))
        assert (finding.outcome, finding.seen) == (Outcome.OUT, (place,))
    other = msgspec.structs.replace(TRIED, received={**TRIED.received, "TCP": b"canary-cloud-keys"})
    assert judge(attempt, other).outcome is Outcome.HELD


def test_each_row_is_something_that_the_server_does() -> None:
    by_server = {one.name for one in ATTEMPTS if one.sign is not Sign.CALL}
    assert by_server == set(OF_THE_SERVER)
    assert {one.name for one in ATTEMPTS} == by_server | set(TOOLS)
    assert set(TOOLS.values()) < set(TOOLS_OF_THE_SERVER)
    assert {one.name for one in ATTEMPTS if one.sign is Sign.SECRET} == set(SECRETS)
