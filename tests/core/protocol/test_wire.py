"""What the wire takes and refuses, each refusal a trick that some SDK falls for."""

from __future__ import annotations

import pytest
from msgspec import Raw

from mcp_jail.core.protocol import wire
from mcp_jail.core.protocol.wire import BadLine, Failure, Notification, Request, Result


def call(params: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params.encode() + b"}"


def refused(line: bytes) -> BadLine:
    message = wire.parse(line)
    assert isinstance(message, BadLine), message
    return message


def test_a_request_is_read_whole() -> None:
    line = call('{"name":"a","arguments":{"n":1,"s":"x:y"}}')
    assert wire.parse(line) == Request(
        1, "tools/call", {"name": "a", "arguments": {"n": 1, "s": "x:y"}}
    )


def test_a_method_without_id_is_a_notification() -> None:
    assert wire.parse(b'{"jsonrpc":"2.0","method":"x"}') == Notification("x", {})


def test_an_error_may_have_a_null_id() -> None:
    line = b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'
    assert wire.parse(line) == Failure(None, {"code": 1, "message": "x"})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not a JSON object"),
        (b"hello", "not a JSON object"),
        (b"\xef\xbb\xbf" + call("{}"), "not a JSON object"),
        (call("{}") + call("{}"), "not a JSON object"),
        (call('{"n":NaN}'), "not a JSON object"),
        (call('{"n":Infinity}'), "not a JSON object"),
        (call('{"s":"\\ud800"}'), "not a JSON object"),
        (call('{"s":"a\x00b"}'), "not a JSON object"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"s":"a\rb"}}', "not a JSON object"),
        (b'{"jsonrpc":"2.0","method":"\xff"}', "not valid UTF-8"),
        (b'{"jsonrpc":"2.0","method":"\xed\xa0\x80"}', "not valid UTF-8"),
        (b'{"jsonrpc":"2.0","method":"\xc0\xaf"}', "not valid UTF-8"),
        (b"[" + call("{}") + b"]", "a batch: send one message a line"),
        (call('{"n":1e999}'), "a number out of range"),
        (call('{"n":1' + "0" * 400 + "}"), "a number out of range"),
        (call('{"n":[-1' + "0" * 309 + "]}"), "a number out of range"),
        (call('{"n":1' + "0" * 5000 + "}"), "a number out of range"),
        (call('{"a":1,"a":2}'), "a key stands twice in one object"),
        (call('{"a":1,"\\u0061":2}'), "a key stands twice in one object"),
        (call('{"x":[{"y":{"a":1,"a":1}}]}'), "a key stands twice in one object"),
        (call('{"name":"ok","Name":"bad"}'), "keys that differ only in case"),
        (call('{"x":[{"y":{"path":1,"pAth":1}}]}'), "keys that differ only in case"),
        (call('{"stra\u00dfe":1,"STRASSE":2}'), "keys that differ only in case"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}',
            "a key stands twice in one object",
        ),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', "a key stands twice in one object"),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', "an id is a string or an integer, not null"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "exactly one of method"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}', "exactly one of method"),
        (b'{"jsonrpc":"2.0","id":1}', "exactly one of method"),
        (b'{"jsonrpc":"2.0","result":{}}', "an answer needs an id"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"params":{}}', "an answer has no params"),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"result":{}}', "a key stands twice in one object"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"result":{}}', "a key stands twice in one object"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","ID":2}', "a member that"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","extra":2}', "a member that"),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', "not a JSON-RPC 2.0 message"),
        (b'{"id":1,"method":"x"}', "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"2.0","id":1e0,"method":"x"}', "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', "not a JSON-RPC 2.0 message"),
        (call('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"), "nested deeper than 100"),
        (call('{"a":' + "[" * 100 + "]" * 100 + "}"), "nested deeper than 100"),
        (
            b'{"jsonrpc":"2.0","id":1,"result":{"a":' + b"[" * 101 + b"]" * 101 + b"}}",
            "nested deeper than 100",
        ),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(line: bytes, reason: str) -> None:
    assert reason in refused(line).reason


def test_nesting_up_to_the_limit_is_taken() -> None:
    assert isinstance(wire.parse(call('{"a":' + "[" * 98 + "]" * 98 + "}")), Request)


def test_a_refusal_names_the_request_only_where_its_id_is_beyond_doubt() -> None:
    assert refused(call('{"a":1,"a":2}')).id == 1
    assert refused(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}').id is None
    assert refused(b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"x"}').id is None


def test_the_members_of_a_result_stay_raw_and_are_read_once() -> None:
    message = wire.parse(
        b'{"result":{"content":[{"a" : 1}],"isError":false},"jsonrpc":"2.0","id":"q"}'
    )
    assert isinstance(message, Result)
    members = wire.members(message.raw)
    assert isinstance(members, dict)
    assert bytes(members["content"]) == b'[{"a" : 1}]'


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ('{"isError":true,"isError":false}', "a key stands twice"),
        ('{ "isError":true, "isError":false }', "a key stands twice"),
        ('{"isError":true,"IsError":false}', "differ only in case"),
        ("[]", "not an object"),
        ("null", "not an object"),
    ],
)
def test_a_result_that_can_be_read_two_ways_is_refused(result: str, reason: str) -> None:
    message = wire.parse(b'{"jsonrpc":"2.0","id":"q","result":' + result.encode() + b"}")
    assert isinstance(message, Result)
    members = wire.members(message.raw)
    assert isinstance(members, BadLine)
    assert reason in members.reason


def test_a_whole_result_refuses_what_a_schema_may_hide() -> None:
    line = '{"jsonrpc":"2.0","id":"q","result":{"tools":[{"inputSchema":{"a":1,"a":2}}]}}'
    message = wire.parse(line.encode())
    assert isinstance(message, Result)
    whole = wire.whole(message.raw)
    assert isinstance(whole, BadLine)
    assert whole.reason == "a key stands twice in one object"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("[]", "not an object"),
        ('{"tools":[{"name":"a","Name":"b"}]}', "differ only in case"),
        ('{"tools":[],"Tools":[]}', "differ only in case"),
        ('{"n":1' + "0" * 400 + "}", "a number out of range"),
        ('{"n":1e999}', "a number out of range"),
    ],
)
def test_a_whole_result_refuses_what_two_parsers_read_differently(result: str, reason: str) -> None:
    message = wire.parse(b'{"jsonrpc":"2.0","id":"q","result":' + result.encode() + b"}")
    assert isinstance(message, Result)
    whole = wire.whole(message.raw)
    assert isinstance(whole, BadLine)
    assert reason in whole.reason


@pytest.mark.parametrize(
    ("value", "id"),
    [(1, 1), ("1", "1"), (True, None), (1.0, None), (None, None), ([1], None)],
    ids=repr,
)
def test_only_strings_and_integers_are_ids(value: object, id: object) -> None:
    assert wire.as_id(value) == id
    assert type(wire.as_id(value)) is type(id)


def test_an_answer_is_rendered_as_it_was_read() -> None:
    line = b'{"jsonrpc":"2.0","id":"q","result":{"a":[1,2]}}'
    message = wire.parse(line)
    assert isinstance(message, Result)
    assert wire.render(message) == line + b"\n"


def test_the_codes_are_those_of_json_rpc() -> None:
    assert refused(b"x").code == -32700
    assert refused(b"[]").code == -32600


def test_property_names_of_a_schema_may_differ_in_case() -> None:
    tool = '{"inputSchema":{"properties":{"x":{},"X":{}}}}'
    line = '{"jsonrpc":"2.0","id":"q","result":{"tools":[' + tool + "]}}"
    message = wire.parse(line.encode())
    assert isinstance(message, Result)
    assert isinstance(wire.whole(message.raw), dict)


def test_integers_stay_exact() -> None:
    big = "9" * 300
    message = wire.parse(call('{"n":' + big + "}"))
    assert isinstance(message, Request)
    assert big.encode() in wire.render(message)


def test_digits_in_a_text_are_no_number() -> None:
    assert isinstance(wire.parse(call('{"s":"' + "1" * 5000 + '"}')), Request)


def test_no_carriage_return_reaches_a_server_that_splits_at_it() -> None:
    inner = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}'
    outer = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":\r' + inner + "\r}}}"
    message = wire.parse(outer.encode())
    assert isinstance(message, Request)
    assert b"\r" not in wire.render(message)


def test_no_carriage_return_of_a_raw_result_reaches_the_client() -> None:
    message = wire.parse(b'{"jsonrpc":"2.0","id":"q","result":{"content":[\r1,\r2]}}')
    assert isinstance(message, Result)
    members = wire.members(message.raw)
    assert isinstance(members, dict)
    assert wire.render_result(7, members) == (
        b'{"id":7,"result":{"content":[ 1, 2]},"jsonrpc":"2.0"}\n'
    )


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_no_line_separator_of_any_language_is_sent_as_it_is(separator: str) -> None:
    message = wire.parse(call('{"s":"a' + separator + 'b"}'))
    assert isinstance(message, Request)
    line = wire.render(message)
    assert len(line.decode().splitlines()) == 1
    assert wire.parse(line[:-1]) == message


def test_an_error_answer_without_an_id_has_a_null_id() -> None:
    assert wire.render_error(None, -1, "x").startswith(b'{"id":null,')


@pytest.mark.parametrize("before", ["", '"content":[], '])
@pytest.mark.parametrize(
    "data", ['{"id":1,"ID":2}', '[{"a":1,"A":2}]', '{"x":{"a":1,"A":2}}', "null", "1"]
)
def test_what_a_tool_gives_as_data_may_have_any_keys(data: str, before: str) -> None:
    raw = Raw(f'{{{before}"structuredContent":{data}}}'.encode())
    assert not isinstance(wire.whole(raw), BadLine)
    assert not isinstance(wire.members(raw), BadLine)


def test_no_key_stands_twice_in_what_a_tool_gives_as_data() -> None:
    for data in ('{"a":1,"a":2}', '[{"a":1,"a":1}]'):
        assert isinstance(wire.whole(Raw(f'{{"structuredContent":{data}}}'.encode())), BadLine)
