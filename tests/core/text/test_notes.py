"""Runs of log messages become what the session makes of each of them by itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagined import Imagined
from mcp_jail.core.conversation.events import FromClient, FromServer, ToClient
from mcp_jail.core.conversation.opening import CLIENT_LIMIT
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import Policy
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.core.text.notes import LEAST, LINE_LIMIT, Run, pieces

NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
AS_SDKS_WRITE = (
    b'{"method":"notifications/message","params":{"level":"info","data":"x"},"jsonrpc":"2.0"}'
)

OPENING = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)
OPENED = (
    b'{"jsonrpc":"2.0","id":"n","result":{"protocolVersion":"2025-06-18","capabilities":'
    b'{"logging":{}},"serverInfo":{"name":"s","version":"1"}}}'
)

# Each but one thing away from a log message that needs no closer look.
ODD = [
    NOTE.replace(b'"level"', b'"level":"info","level"'),
    NOTE.replace(b'"level"', b'"Data":1,"level"'),
    NOTE.replace(b'"method"', b'"method":"notifications/message","method"', 1),
    NOTE.replace(b'"params"', b'"id":1,"params"'),
    NOTE.replace(b'"params"', b'"other":1,"params"'),
    NOTE.replace(b'"x"', b'{"K":1,"k":2}'),
    NOTE.replace(b'"x"', b"[" * 101 + b"]" * 101),
    NOTE.replace(b'"x"', b"[" * 5000),
    NOTE.replace(b'"x"', b"1" * 310),
    NOTE.replace(b'"x"', b"1e400"),
    NOTE.replace(b'"x"', b"NaN"),
    NOTE.replace(b'"x"', b'"\\ud800"'),
    NOTE.replace(b'"x"', b'"\xff"'),
    NOTE.replace(b'"x"', '"a\u2028b"'.encode()),
    NOTE.replace(b'"x"', b'"\\u001b[2J"'),
    NOTE.replace(b'"x"', b'"\x7f"'),
    NOTE.replace(b'"info"', b'"loud"'),
    NOTE.replace(b'"level":"info",', b""),
    NOTE.replace(b"}}", b',"logger":"l"}}'),  # not in the order of the protocol
    NOTE.replace(b'"x"', b' "x"'),
    NOTE.replace(b'"x"', b'\r"x"'),
    NOTE.replace(b'"x"', b'"x","_meta":{"io.modelcontextprotocol/subscriptionId":"1"}'),
    NOTE.replace(b"/message", b"/message/other"),
    NOTE.replace(b"/message", b"/unheard"),
    NOTE.replace(b"/message", b"/progress"),
    NOTE[:-1],
    NOTE + b" ",
    NOTE + NOTE,
    b"{}",
    b'{"jsonrpc":"2.0","id":"1","result":{}}',
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
params = st.dictionaries(
    st.sampled_from(["level", "data", "Data", "logger", "_meta", "x"]),
    st.just("info")
    | scalars
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.sampled_from("kK"), scalars),
    max_size=3,
)
lines = st.sampled_from([NOTE, AS_SDKS_WRITE, *ODD]) | st.builds(
    lambda inner: NOTE[: NOTE.index(b'{"level')] + msgspec.json.encode(inner) + b"}", params
)
batches = st.lists(st.tuples(lines, st.sampled_from([1, LEAST - 1, LEAST, 20])), max_size=4)


def session() -> Session:
    policy = msgspec.convert({"name": "t"}, Policy)

    def describe(arguments: dict[str, Any]) -> tuple[None, str]:
        del arguments
        return None, ""

    held = Session(
        compile_rules(policy, {}, home="/h", cwd=None),
        Imagined({}),
        fresh_id=lambda: "n",
        fresh_ticket=lambda: "TICKET",
        describe=describe,
    )
    held.handle(FromClient(OPENING))
    held.handle(FromServer(OPENED))
    return held


def one_by_one(found: list[bytes]) -> tuple[bytes, int]:
    """What the client is sent, and how many other effects there are."""
    held = session()
    effects = [effect for line in found for effect in held.handle(FromServer(line))]
    sent = [effect.line for effect in effects if isinstance(effect, ToClient)]
    return b"".join(sent), len(effects) - len(sent)


def in_pieces(found: list[bytes]) -> tuple[bytes, int]:
    held, sent, others = session(), b"", 0
    assert held.passes_logs()
    for piece in pieces(found):
        if isinstance(piece, Run):
            sent += piece.lines
            continue
        for effect in held.handle(FromServer(piece)):
            if isinstance(effect, ToClient):
                sent += effect.line
            else:
                others += 1
    return sent, others


@given(batches)
def test_in_runs_and_one_by_one_the_same_is_sent(batch: list[tuple[bytes, int]]) -> None:
    found = [line for line, times in batch for _ in range(times)]
    assert in_pieces(found) == one_by_one(found)


@pytest.mark.parametrize("note", [NOTE, AS_SDKS_WRITE])
def test_a_line_that_the_client_would_choke_on_is_left_out_of_a_run(note: bytes) -> None:
    short, run = note.replace(b'"x"', b'"%s"' % (b"x" * 50_000)), [note] * LEAST
    huge = note.replace(b'"x"', b'"%s"' % (b"x" * CLIENT_LIMIT))
    found = [*run, short, *run, huge, *run, *[huge] * LEAST]
    sent, others = in_pieces(found)
    assert (sent, others) == one_by_one(found)
    assert max(map(len, sent.splitlines())) < CLIENT_LIMIT
    assert len(sent.splitlines()) == 3 * LEAST + 1
    assert others == 1 + LEAST, "each that was dropped is written down"


def test_a_run_holds_only_lines_up_to_the_limit() -> None:
    inner = LINE_LIMIT - len(NOTE) + 1
    just, over = (NOTE.replace(b'"x"', b'"%s"' % (b"x" * size)) for size in (inner, inner + 1))
    assert (len(just), len(over)) == (LINE_LIMIT, LINE_LIMIT + 1)
    (run,) = pieces([just] * LEAST)
    assert isinstance(run, Run)
    assert list(pieces([over] * LEAST)) == [over] * LEAST


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("note", [NOTE, AS_SDKS_WRITE])
def test_an_odd_line_is_never_part_of_a_run(odd: bytes, note: bytes) -> None:
    run = [note] * LEAST
    for found in ([*run, odd, *run], [odd] * LEAST, [odd, *run], [*run, odd]):
        taken = b"".join(piece.lines for piece in pieces(found) if isinstance(piece, Run))
        assert odd not in taken.split(b"\n")
        assert in_pieces(found) == one_by_one(found)


@pytest.mark.parametrize("note", [NOTE, AS_SDKS_WRITE])
def test_a_run_of_plain_messages_is_one_piece_in_our_order(note: bytes) -> None:
    run = Run((NOTE + b"\n") * LEAST)
    assert list(pieces([b"{}", *[note] * LEAST, b"{}"])) == [b"{}", run, b"{}"]
