"""Laws of the chain and of redaction, over many made-up runs and values."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from chains import run_lines
from mcp_jail.core.policy import AuditArguments
from mcp_jail.core.recorded.audit import MAX_LINE_BYTES, Anchor, Chain, Entry, Kind, read_record
from mcp_jail.core.recorded.redact import MAX_ARGUMENTS_BYTES, Redactor
from mcp_jail.core.recorded.verify import RunState, verify
from mcp_jail.core.text.telling import MIN_KNOWN_CHARS

ONE = b"".join(run_lines("one", 4))

texts = st.text(st.characters(codec="utf-8"), max_size=20)
secrets = st.text(st.characters(codec="utf-8"), min_size=MIN_KNOWN_CHARS, max_size=40)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
entries = st.builds(
    Entry,
    kind=st.sampled_from(Kind),
    name=texts,
    reason=texts,
    id=st.none() | st.integers() | texts,
    detail=st.dictionaries(texts, json_values, max_size=3),
)


def state(content: bytes) -> RunState:
    return verify(content.split(b"\n"), lambda _: True).state


@given(st.integers(0, len(ONE) - 1), st.integers(1, 255))
def test_one_changed_byte_anywhere_breaks_a_file(at: int, change: int) -> None:
    content = ONE[:at] + bytes([ONE[at] ^ change]) + ONE[at + 1 :]
    assert state(content) is RunState.BROKEN


@given(st.integers(0, len(ONE) - 1), st.integers(0, len(ONE)))
def test_no_removed_stretch_leaves_a_run_whole(begin: int, end: int) -> None:
    content = ONE[:begin] + ONE[end:]
    assume(begin < end)
    assume(ONE[begin:end].strip(b"\n"))
    assert state(content) is not RunState.OK or content.strip(b"\n") == b""


@given(st.lists(st.integers(0, 2), max_size=30), st.integers(0, 6))
def test_runs_verify_however_their_lines_are_interleaved(turns: list[int], calls: int) -> None:
    queues = [run_lines(f"run{number}", calls) for number in range(3)]
    lines: list[bytes] = []
    for turn in [*turns, *(at for at in range(3) for _ in range(calls + 2))]:
        lines += queues[turn][:1]
        del queues[turn][:1]
    report = verify([line[:-1] for line in lines], lambda _: True)
    assert [run.state for run in report.runs] == [RunState.OK] * 3


@given(st.permutations(range(6)))
def test_no_other_order_of_a_run_verifies(order: list[int]) -> None:
    assume(order != sorted(order))
    lines = run_lines("one", 4)
    assert state(b"".join(lines[at] for at in order)) is RunState.BROKEN


@given(st.integers(0, len(ONE)))
def test_a_file_cut_anywhere_is_open_and_neither_whole_nor_broken(at: int) -> None:
    content = ONE[:at]
    whole = at == 0 or at >= len(ONE) - 1  # the last newline says nothing
    assert state(content) is (RunState.OK if whole else RunState.OPEN)


@given(st.lists(entries, max_size=5), st.text(alphabet="abc123", min_size=1))
def test_any_entry_is_one_line_that_reads_back_and_verifies(found: list[Entry], run: str) -> None:
    chain = Chain(run, Anchor())
    lines = [chain.seal(each, 5) for each in [Entry(kind=Kind.START), *found]]
    for line, entry in zip(lines[1:], found, strict=True):
        assert line.count(b"\n") == 1
        assert len(line) <= MAX_LINE_BYTES
        assert line[:-1].decode().isprintable()
        record = read_record(line)
        assert (record.kind, record.name, record.reason) == (entry.kind, entry.name, entry.reason)
        assert json.loads(line)["n"] == record.n
    ended = [entry.kind for entry in found[:-1]].count(Kind.END)
    report = verify([line[:-1] for line in lines], lambda _: True)
    assert (report.state is RunState.BROKEN) == bool(ended)


def in_all_encodings(secret: str, before: str) -> list[str]:
    """The secret in every encoding redaction claims to know."""
    raw, lead = secret.encode(), before.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="!'()*"),
        raw.hex(),
        raw.hex().upper(),
        base64.b64encode(lead + raw).decode(),
        base64.urlsafe_b64encode(raw + lead).decode(),
    ]


def holds_secret(shown: str, secret: str) -> bool:
    """Whether a text still gives the secret away in any of those encodings."""
    if any(form in shown for form in in_all_encodings(secret, "")[:-2]):
        return True
    packed = secret.encode()
    cores = [base64.b64encode(b"x" * pad + packed)[4:-4] for pad in range(3)]
    return any(
        len(core) >= 8 and (core.decode() in shown or core.translate(_URL).decode() in shown)
        for core in cores
    )


_URL = bytes.maketrans(b"+/", b"-_")


@given(secrets, texts, texts, st.integers(0, 600))
def test_no_known_value_is_left_in_any_encoding(
    secret: str, before: str, after: str, padding: int
) -> None:
    assume(secret not in before + after and "[redacted]" not in secret)
    redactor = Redactor(known=[secret], key=b"k")
    for form in in_all_encodings(secret, before):
        text = "." * padding + before + form + after
        shown = bytes(redactor.arguments({"a": [text], text: 1}) or b"").decode()
        assert not holds_secret(shown, secret)
        assert not holds_secret(msgspec.json.decode(shown)["a"][0], secret)
        assert not holds_secret(redactor.text(text), secret)


@given(json_values)
def test_redacted_arguments_are_json_and_never_long(value: object) -> None:
    redactor = Redactor(known=["hunter2hunter2"], key=b"k")
    shown = bytes(redactor.arguments(value) or b"")
    assert len(shown) <= MAX_ARGUMENTS_BYTES
    msgspec.json.decode(shown)


@given(json_values)
def test_arguments_without_secrets_and_length_are_kept_as_they_are(value: object) -> None:
    encoded = msgspec.json.encode(value)
    full = Redactor(mode=AuditArguments.FULL, known=[], key=b"k").arguments(value)
    assert bytes(full or b"") == encoded
