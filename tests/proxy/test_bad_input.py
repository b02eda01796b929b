"""Bad input of a client, in a real run: an error each, nothing forwarded, and it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver import Client, Home, command, started
from mcp_jail.core.protocol.wire import MESSAGE_LIMIT

POLICY = """\
filesystem: {read_write: [~/projects/scratch]}
tools: {default: deny, rules: {echo: allow}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


def call(params: str, id: str = '"id":99,') -> bytes:
    return (
        '{"jsonrpc":"2.0",%s"method":"tools/call","params":%s}' % (id, params)  # noqa: UP031
    ).encode()


MARKED = '{"name":"echo","arguments":{"text":"SMUGGLED"%s}}'

LINES = {
    "no JSON": b"SMUGGLED",
    "two in a line": call(MARKED % "") + call(MARKED % "", '"id":98,'),
    "BOM": b"\xef\xbb\xbf" + call(MARKED % ""),
    "invalid UTF-8": call(MARKED % ',"x":"\x00"').replace(b"\x00", b"\xff"),
    "overlong UTF-8": call(MARKED % ',"x":"\x00"').replace(b"\x00", b"\xc0\xaf"),
    "NUL": call(MARKED % ',"x":"\x00"'),
    "NaN": call(MARKED % ',"x":NaN'),
    "lone surrogate": call(MARKED % ',"x":"\\ud800"'),
    "10^400": call(MARKED % (',"x":1' + "0" * 400)),
    "10^5000": call(MARKED % (',"x":1' + "0" * 5000)),
    "1e400": call(MARKED % ',"x":1e400'),
    "depth 100,000": call(MARKED % (',"x":' + "[" * 100_000 + "]" * 100_000)),
    "depth 101": call(MARKED % (',"x":' + "[" * 101 + "]" * 101)),
    "batch": b"[" + call(MARKED % "") + b"]",
    "empty batch": b"[]",
    "duplicate method": call(MARKED % "").replace(b'"method"', b'"method":"ping","method"'),
    "duplicate params": call(MARKED % "").replace(b'"params"', b'"params":{},"params"'),
    "duplicate name": call('{"name":"ping",' + (MARKED % "")[1:]),
    "case twin of name": call('{"Name":"ping",' + (MARKED % "")[1:]),
    "duplicate argument": call(MARKED % ',"text":"x"'),
    "escaped duplicate argument": call(MARKED % ',"\\u0074ext":"x"'),
    "case twin of an argument": call(MARKED % ',"TEXT":"x"'),
    "deep duplicate": call(MARKED % ',"x":[{"y":{"a":1,"a":2}}]'),
    "deep case twin": call(MARKED % ',"x":[{"y":{"a":1,"A":2}}]'),
    "no id": call(MARKED % "", ""),
    "null id": call(MARKED % "", '"id":null,'),
    "float id": call(MARKED % "", '"id":1.5,'),
    "boolean id": call(MARKED % "", '"id":true,'),
    "object id": call(MARKED % "", '"id":{},'),
    "unknown envelope key": call(MARKED % "", '"id":99,"x":1,'),
    "case twin of method": call(MARKED % "", '"id":99,"Method":"ping",'),
    "wrong version": call(MARKED % "").replace(b'"2.0"', b'"1.0"'),
    "no version": call(MARKED % "").replace(b'"jsonrpc":"2.0",', b""),
    "unknown method": call(MARKED % "").replace(b"tools/call", b"tools/Call"),
    "method with a space": call(MARKED % "").replace(b"tools/call", b"tools/call "),
    "params as a list": call('["SMUGGLED"]'),
    "arguments as a string": call('{"name":"echo","arguments":"SMUGGLED"}'),
    "name as a list": call('{"name":["echo"],"arguments":{"text":"SMUGGLED"}}'),
    "no name": call('{"arguments":{"text":"SMUGGLED"}}'),
    "homoglyph name": call('{"name":"\u0435cho","arguments":{"text":"SMUGGLED"}}'),
    "trailing space in the name": call('{"name":"echo ","arguments":{"text":"SMUGGLED"}}'),
    "name in capitals": call('{"name":"Echo","arguments":{"text":"SMUGGLED"}}'),
    "task": call('{"task":{"ttl":1},' + (MARKED % "")[1:]),
    "CR smuggling": call(
        '{"_meta":{"x":\r' + (call(MARKED % "", '"id":98,')).decode() + '\r},"name":"ping"}'
    ),
    "result and method": call(MARKED % "", '"id":99,"result":{},'),
    "answer never asked for": b'{"jsonrpc":"2.0","id":1,"result":{"x":"SMUGGLED"}}',
    "null error answer": b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"SMUGGLED"}}',
    "notification unknown": b'{"jsonrpc":"2.0","method":"SMUGGLED/x"}',
    "oversize": b'{"x":"SMUGGLED' + b"y" * MESSAGE_LIMIT + b'"}',
}

# What gets no answer, since JSON-RPC forbids answering answers and notifications.
UNANSWERED = {"answer never asked for", "null error answer", "notification unknown"}


def is_alive(client: Client) -> bool:
    """Whether an honest call still works."""
    return "honest" in str(client.call("echo", text="honest"))


@pytest.mark.parametrize("what", LINES)
def test_bad_input_is_told_not_forwarded_recorded_and_survived(home: Home, what: str) -> None:
    log = home.scratch / "log"
    with started(home, "run", "fs", *command("echo.py", "--log", str(log))) as client:
        client.open()
        client.write(LINES[what] + b"\n")
        if what not in UNANSWERED:
            answer = client.read()
            assert "error" in answer or answer["result"]["isError"] is True
        assert is_alive(client)
        assert client.close() == 0
    assert "SMUGGLED" not in log.read_text()
    entries = home.audit()
    assert any(e["kind"] == "wire" or e.get("verdict") == "deny" for e in entries), entries


def test_thousands_of_bad_lines_are_survived(home: Home) -> None:
    log = home.scratch / "log"
    small = [line for line in LINES.values() if len(line) < 1000]
    with started(home, "run", "fs", *command("echo.py", "--log", str(log))) as client:
        client.open()
        for _ in range(40):
            client.write(b"\n".join(small) + b"\n")
            while client.answer(client.ask("ping")) is None:
                pass
        assert is_alive(client)
        assert client.close() == 0
    assert "SMUGGLED" not in log.read_text()
    assert home.audit()[-1]["detail"]["violations"] > 1000
    assert len(home.audit()) < 1500
