"""What a server's result becomes on its way to the client.

Left out or replaced: what the lock does not know, what the policy denies, hidden characters, links
to what may not be read. A bulk result with none of it stays as it is below its top members.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from mcp_jail.core.approved.listed import Page
from mcp_jail.core.approved.lock import KIND_OF_LIST
from mcp_jail.core.conversation import handles, links, network, walks
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.opening import told_to_client
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.conversation.wordless import WORDLESS, has_versions, is_cursor, wordless_error
from mcp_jail.core.policy import Text, Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import BadLine
from mcp_jail.core.rules import decide
from mcp_jail.core.text import hidden

# The members of a list result that are passed on beside the items.
_LIST_PASSED: Final = frozenset({"nextCursor", "resultType", "_meta"})

# Results whose `_meta` was looked at are remembered, as nearly all say the same.
_METAS_REMEMBERED: Final = 64


class Reply(msgspec.Struct, frozen=True):
    """A result ready for the client, and what was seen in it."""

    result: dict[str, Any]
    is_error: bool = False
    violations: tuple[str, ...] = ()


class Results:
    """Turns a server's results into what the client is sent."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._metas: dict[tuple[bytes, Era], Raw | None] = {}

    def opening(self, waiting: Waiting, raw: Raw) -> Reply | BadLine:
        """The answer to `initialize` or `server/discover`."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return result
        if mcp.result_kind(result) is not mcp.ResultKind.COMPLETE:
            return _NO_ANSWER
        if not has_versions(result):
            return BadLine("a protocol version that is none", wire.INVALID_REQUEST)
        era, is_locked = waiting.era, self._state.catalogue.is_enabled
        told = told_to_client(result, era=era, is_locked=is_locked)
        self._state.opening.has_tasks = "requests" in told["capabilities"].get("tasks", {})
        if is_locked:
            told = self._approved_opening(told, result, era)
        return Reply(self._clean(mcp.kept_fresh(told, era) if era is Era.MODERN else told))

    def listing(self, waiting: Waiting, raw: Raw) -> Reply | BadLine:
        """A page of a listing."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return result
        page, violations = self.page_of(waiting, result)
        if page is None:
            return BadLine("a list of another shape", wire.INVALID_REQUEST)
        shown = self._state.catalogue.compare(page)
        member, _ = mcp.LISTED[waiting.method]
        if not is_cursor(result.get("nextCursor")):
            return BadLine("a cursor that is none", wire.INVALID_REQUEST)
        kept = {name: value for name, value in result.items() if name in _LIST_PASSED}
        info = self._approved_meta(kept.pop("_meta", None), waiting.era).get(mcp.SERVER_INFO_KEY)
        if info is not None:
            kept["_meta"] = {mcp.SERVER_INFO_KEY: info}
        kept[member] = [
            item.value for item in shown if _is_allowed(waiting.method, item.name, self._state)
        ]
        return Reply(self._clean(mcp.kept_fresh(kept, waiting.era)), violations=violations)

    def page_of(
        self, waiting: Waiting, result: dict[str, Any]
    ) -> tuple[Page | None, tuple[str, ...]]:
        """The page that a list result is, without items whose name hides characters."""
        items = mcp.listed(waiting.method, result)
        if items is None or mcp.result_kind(result) is not mcp.ResultKind.COMPLETE:
            return None, ()
        names = [item.name for item in items]
        kept = tuple(item for item in items if not hidden.has_hidden(item.name))
        left_out = tuple(dict.fromkeys(name for name in names if hidden.has_hidden(name)))
        violations = [f"listed twice: {quoted(name[:80])}" for name in sorted(_named_twice(names))]
        violations += [
            f"a name with hidden characters, left out: {quoted(name[:80])}" for name in left_out
        ]
        page = Page(
            KIND_OF_LIST[waiting.method],
            waiting.era.value,
            kept,
            is_first=waiting.step.number == 0 if waiting.step else "cursor" not in waiting.params,
            is_last=walks.is_last(result),
            is_ours=waiting.step is not None,
            left_out=left_out,
        )
        return page, tuple(violations)

    def plain(self, waiting: Waiting, raw: Raw) -> Reply | BadLine:
        """An answer that is judged by its shape alone."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return result
        if mcp.result_kind(result) is not mcp.ResultKind.COMPLETE:
            return _NO_ANSWER
        if waiting.treatment is Treatment.FORWARD:  # `ping`, `logging/setLevel`: nothing to tell
            return Reply({"resultType": "complete"} if waiting.era is Era.MODERN else {})
        return Reply(self._clean(self._with_approved_meta(result, waiting.era)))

    def ended_subscription(self, waiting: Waiting, raw: Raw) -> Reply | BadLine:
        """The result that ends a subscription (2026-07-28): the client's own id of it, no word."""
        result = wire.whole(raw)
        if isinstance(result, BadLine):
            return result
        if mcp.result_kind(result) is not mcp.ResultKind.COMPLETE:
            return _NO_ANSWER
        return Reply({"resultType": "complete", **handles.of_subscription(waiting.client_id)})

    def bulk(self, waiting: Waiting, raw: Raw, members: dict[str, Raw]) -> Reply | BadLine:
        """What a tool gave, a resource holds or a prompt says: whole answers only."""
        is_error = mcp.is_error_result(members)
        members = {name: value for name, value in members.items() if name != "taskId"}
        refused = self._state.refused.take(waiting)
        if refused or self._may_need_change(waiting.treatment, raw, members):
            result = wire.whole(raw)
            if isinstance(result, BadLine):
                return result
            result.pop("taskId", None)  # it is no task
            changed, violations = self.content(self._with_approved_meta(result, waiting.era))
            changed = network.with_words(changed, refused) if refused else changed
            return Reply(self._fresh(waiting, changed), is_error, violations)
        if "_meta" in members:
            meta = self._remembered_meta(members["_meta"], waiting.era)
            members = {name: value for name, value in members.items() if name != "_meta"}
            if meta is not None:
                members["_meta"] = meta
        return Reply(self._fresh(waiting, members), is_error)

    def task(self, result: dict[str, Any], era: Era) -> Reply:
        """The state of a task; its outcome is held like the result of the call itself."""
        changed, found = self.content(result)
        inner = changed.get("result")
        outcome: dict[str, Any] = {}
        if type(inner) is dict:
            more: tuple[str, ...] = ("an outcome that asks for more",)
            if mcp.result_kind(inner) is mcp.ResultKind.COMPLETE:
                outcome, more = self.content(self._with_approved_meta(inner, era))
            changed["result"] = outcome
            found += more
        is_error = changed.get("isError") is True or outcome.get("isError") is True
        return Reply(self._with_approved_meta(changed, era), is_error, found)

    def content(self, result: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """A decoded result without hidden characters and denied links; what was left out."""
        changed = {n: each for n, each in result.items() if not mcp.misspelt_member({n: each})}
        found: tuple[str, ...] = () if len(changed) == len(result) else ("a key in another case",)
        for name, without_denied in _WITHOUT_DENIED.items():
            if type(result.get(name)) is list:
                changed[name], left_out = without_denied(result[name], self._is_denied)
                found += left_out
            elif name in result:
                del changed[name]
                found += (f"{name} that is no list",)
        return self._clean(changed), found

    def error(self, waiting: Waiting, error: dict[str, Any]) -> dict[str, Any]:
        """A server's error without hidden characters: models read those too.

        Where nothing was called, its words are nobody's business: what a server says of itself is
        approved or not heard.
        """
        if waiting.treatment not in WORDLESS or not self._state.catalogue.is_enabled:
            return self._clean(error)
        return wordless_error(error, waiting.params)

    # The opening

    def _approved_opening(
        self, told: dict[str, Any], result: dict[str, Any], era: Era
    ) -> dict[str, Any]:
        """The opening answer with the words that were approved, or with none."""
        meta = result.get("_meta")
        said = meta.get(mcp.SERVER_INFO_KEY) if type(meta) is dict else None
        info = result.get("serverInfo", said)
        parts = {"info": info, "instructions": result.get("instructions")}
        parts["capabilities"] = result.get("capabilities")
        catalogue = self._state.catalogue
        shown = catalogue.compare_server(
            {name: value for name, value in parts.items() if value is not None}, era.value
        )
        kept = {
            name: value for name, value in told.items() if name not in {"_meta", "instructions"}
        }
        if "instructions" in told and "instructions" in shown:
            kept["instructions"] = told["instructions"]
        name = self._state.book.policy.name
        stand_in = {"name": name, "version": "not approved"}
        approved = shown.get("info", catalogue.approved_server("info", era.value) or stand_in)
        if "serverInfo" in told:
            kept["serverInfo"] = approved
        if said is not None:
            kept["_meta"] = {mcp.SERVER_INFO_KEY: approved}
        return kept

    # Bulk

    def _may_need_change(self, treatment: Treatment, raw: Raw, members: dict[str, Raw]) -> bool:
        """Whether something may have to be left out or marked; False is certain."""
        if treatment is Treatment.READ_RESOURCE or not _is_plain(members):
            return True
        return self._state.book.policy.text is not Text.OFF and hidden.may_hide(memoryview(raw))

    def _fresh(self, waiting: Waiting, result: dict[str, Any]) -> dict[str, Any]:
        """Only the reading of a resource may be cached by a client (2026-07-28)."""
        if waiting.treatment is Treatment.READ_RESOURCE:
            return mcp.kept_fresh(result, waiting.era)
        return result

    def _is_denied(self, uri: str) -> bool:
        return decide.decide_resource(uri, self._state.book).verdict is Verdict.DENY

    def _clean(self, value: dict[str, Any]) -> dict[str, Any]:
        if self._state.book.policy.text is Text.OFF:
            return value
        cleaned: dict[str, Any] = hidden.cleaned(value, self._state.book.policy.text)[0]
        return cleaned

    # What a server says of itself with every result

    def _remembered_meta(self, raw: Raw, era: Era) -> Raw | None:
        """A raw `_meta` with the approved info, None where nothing of it is left."""
        key = (bytes(raw), era)
        if key not in self._metas:
            if len(self._metas) >= _METAS_REMEMBERED:
                self._metas.clear()
            meta = wire.whole(raw)
            kept = {} if isinstance(meta, BadLine) else self._approved_meta(meta, era)
            ours = raw if kept is meta else Raw(msgspec.json.encode(kept))
            self._metas[key] = ours if kept else None
        return self._metas[key]

    def _with_approved_meta(self, result: dict[str, Any], era: Era) -> dict[str, Any]:
        if "_meta" not in result:
            return result
        return result | {"_meta": self._approved_meta(result["_meta"], era)}

    def _approved_meta(self, meta: Any, era: Era) -> dict[str, Any]:
        """`_meta` without any id, and with the server's info as it was approved, or without."""
        if type(meta) is not dict:
            return {}
        kept = handles.without_handles(meta)
        if mcp.SERVER_INFO_KEY not in kept or not self._state.catalogue.is_enabled:
            return self._clean(kept)
        approved = self._state.catalogue.approved_server("info", era.value)
        kept = {name: value for name, value in kept.items() if name != mcp.SERVER_INFO_KEY}
        if approved is not None:
            kept = kept | {mcp.SERVER_INFO_KEY: approved}
        return self._clean(kept)

    def forget_metas(self) -> None:
        """The lock changed: what was approved of the server may be another text."""
        self._metas.clear()


# What holds URIs in a result, and what leaves the denied ones out of it.
_WITHOUT_DENIED: Final = {
    "content": links.without_denied_links,
    "contents": links.without_denied_contents,
    "messages": links.without_denied_messages,
}


class _Plain(msgspec.Struct, forbid_unknown_fields=True, rename={"meta": "_meta"}):
    """Content without a URI; another key could be one of these to a client that ignores case."""

    type: Literal["text", "image", "audio"]
    text: Raw = Raw()
    data: Raw = Raw()
    mimeType: Raw = Raw()  # noqa: N815  # the protocol's own word
    annotations: Raw = Raw()
    meta: Raw = Raw()


class _PlainMessage(msgspec.Struct, forbid_unknown_fields=True):
    content: _Plain
    role: Raw = Raw()


_plain_content = msgspec.json.Decoder(list[_Plain]).decode
_plain_messages = msgspec.json.Decoder(list[_PlainMessage]).decode


def _is_plain(members: dict[str, Raw]) -> bool:
    """Whether a result has content of known kinds only, none of which holds a URI."""
    try:
        if "content" in members:
            _plain_content(members["content"])
        if "messages" in members:
            _plain_messages(members["messages"])
    except msgspec.DecodeError:
        return False
    return "contents" not in members


_NO_ANSWER = BadLine("it is no answer but asks for more", wire.INVALID_REQUEST)


def _named_twice(names: list[str]) -> set[str]:
    """Names that more than one item of a page has."""
    seen: set[str] = set()
    twice: set[str] = set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return twice


def _is_allowed(method: str, name: str, state: State) -> bool:
    """Whether the policy lets an item be listed."""
    book = state.book
    match method:
        case "tools/list":
            return not (book.policy.tools.hide_denied and book.denies_always(name))
        case "prompts/list":
            return decide.decide_prompt(name, book).verdict is not Verdict.DENY
        case _:
            return decide.decide_resource(name, book).verdict is not Verdict.DENY
