"""Laws of the wire: nothing raises, what is rendered is read back, no second key survives."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_jail.core.protocol import wire
from mcp_jail.core.protocol.wire import BadLine, Failure, Notification, Request, Result


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects whose keys do not collide when case is ignored."""
    return st.dictionaries(text, inner, max_size=4).filter(
        lambda value: len({key.casefold() for key in value}) == len(value)
    )


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | objects(inner), max_leaves=12
)
ids = st.integers(-(2**70), 2**70) | text


params = objects(values)
messages = (
    st.builds(Request, ids, text, params)
    | st.builds(Notification, text, params)
    | st.builds(Failure, ids | st.none(), params)
)


@given(st.binary(max_size=200))
@example(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 5000)
def test_no_bytes_make_the_reader_raise(line: bytes) -> None:
    message = wire.parse(line)
    if isinstance(message, Result):
        wire.whole(message.raw)
        wire.members(message.raw)


@given(st.binary(max_size=200) | messages.map(wire.render))
def test_a_line_is_the_same_message_in_memory_that_was_gathered(line: bytes) -> None:
    gathered: Any = bytearray(line)
    assert wire.parse(gathered) == wire.parse(line)


@given(messages)
def test_what_is_rendered_is_read_back_the_same(message: wire.Message) -> None:
    line = wire.render(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert wire.parse(line[:-1]) == message


@given(objects(values), st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
def test_a_result_survives_any_layout(result: dict[str, Any], layout: tuple[str, str]) -> None:
    raw = written(result, layout)
    message = wire.parse(b'{"jsonrpc":"2.0","id":"q","result":' + raw + b"}")
    assert isinstance(message, Result)
    assert wire.whole(message.raw) == result
    members = wire.members(message.raw)
    assert isinstance(members, dict)
    assert msgspec.json.decode(msgspec.json.encode(members)) == result


@given(st.data(), objects(values), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_a_second_key_is_seen_at_every_depth(
    data: st.DataObject, value: dict[str, Any], layout: tuple[str, str]
) -> None:
    inner = {"k": 1, "v": value}
    doubled = written(inner, layout).replace(b'"k"', b'"k"' + layout[1].encode() + b'2,"k"', 1)
    for _ in range(data.draw(st.integers(0, 5))):
        doubled = b'{"p":' + doubled + b"}"
    request = wire.parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + doubled + b"}")
    assert isinstance(request, BadLine)
    answer = wire.parse(b'{"jsonrpc":"2.0","id":1,"result":' + doubled + b"}")
    assert isinstance(answer, Result)
    assert isinstance(wire.whole(answer.raw), BadLine)


ORDERS = ["jsonrpc id method params", "method params jsonrpc id", "id jsonrpc params method"]


@given(ids, objects(values), st.sampled_from(ORDERS))
def test_a_call_is_the_same_in_any_order(id: int | str, inner: dict[str, Any], order: str) -> None:
    assert wire.parse(call_in_order(id, inner, order)) == Request(id, "m", {"k": 1, "v": inner})


@given(
    ids, objects(values), st.sampled_from(ORDERS), st.sampled_from(["k", "id", "method", "jsonrpc"])
)
def test_a_second_key_is_seen_in_any_order(
    id: int | str, inner: dict[str, Any], order: str, name: str
) -> None:
    value = {"k": 1, "id": id, "method": "m", "jsonrpc": "2.0"}[name]
    member = b'"%b":%b' % (name.encode(), msgspec.json.encode(value))
    line = call_in_order(id, inner, order).replace(member, member + b"," + member, 1)
    assert isinstance(wire.parse(line), BadLine)


def call_in_order(id: int | str, inner: dict[str, Any], order: str) -> bytes:
    call = {"jsonrpc": "2.0", "id": id, "method": "m", "params": {"k": 1, "v": inner}}
    return written({name: call[name] for name in order.split()}, (",", ":"))


def written(value: Any, layout: tuple[str, str]) -> bytes:
    """JSON with other separators than msgspec's."""
    comma, colon = layout
    if isinstance(value, dict):
        inside = comma.join(
            msgspec.json.encode(key).decode() + colon + written(item, layout).decode()
            for key, item in value.items()
        )
        return ("{" + inside + "}").encode()
    if isinstance(value, list):
        return ("[" + comma.join(written(item, layout).decode() for item in value) + "]").encode()
    return msgspec.json.encode(value)
