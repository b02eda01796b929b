"""Results without the links and embedded resources that the policy denies.

A server may not hand the client, and the model with it, a URI that `resources/read` would refuse.
What is left out leaves a text in its place, so that a model does not look for it. Left out too:
scripts and data in URIs, which some client might open, and content of a kind that we cannot judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mcp_jail.core.rules.constraints import quoted
from mcp_jail.core.rules.uris import readings_of_uri
from mcp_jail.core.text.hidden import stripped

# Items of one list whose place is taken by a text; further ones are counted. A text is longer than
# the shortest item by far, and a server chooses how many there are.
LEFT_OUT_LIMIT = 20

# Never passed on, whatever the policy: what runs or carries content of its own when it is opened.
SCRIPTS = frozenset({"javascript", "vbscript"})
REFUSED_SCHEMES = SCRIPTS | {"data"}

IsDenied = Callable[[str], bool]


def without_denied_links(
    content: list[Any], is_denied: IsDenied
) -> tuple[list[Any], tuple[str, ...]]:
    """The `content` of a tool's result without what may not be linked to, and what was left out.

    The same list where nothing was. `is_denied` is asked with the URI as the server wrote it.
    """
    return _without(
        _with_allowed_icons(content, is_denied),
        lambda block: _fault_of_block(block, is_denied),
        lambda _, told: {"type": "text", "text": told},
    )


def without_denied_messages(
    messages: list[Any], is_denied: IsDenied
) -> tuple[list[Any], tuple[str, ...]]:
    """The same for the `messages` of `prompts/get`; a message keeps its role."""
    return _without(
        _with_allowed_icons(messages, is_denied),
        lambda message: _fault_of_message(message, is_denied),
        _message_in_place,
    )


def without_denied_contents(
    contents: list[Any], is_denied: IsDenied
) -> tuple[list[Any], tuple[str, ...]]:
    """The same for the `contents` of `resources/read`, whose items have a URI and no type."""
    return _without(
        contents,
        lambda item: _fault_of_resource("a resource", item, is_denied),
        lambda _, told: {"uri": LEFT_OUT_URI, "mimeType": "text/plain", "text": told},
    )


# A URI for what has no place: RFC 3986 needs one, and nothing answers to this.
LEFT_OUT_URI = "mcp-jail:left-out"


def _without(
    items: list[Any],
    fault_of: Callable[[Any], str | None],
    in_place: Callable[[Any, str], Any],
) -> tuple[list[Any], tuple[str, ...]]:
    kept = items
    notes: list[str] = []
    more = 0
    for at, item in enumerate(items):
        fault = fault_of(item)
        if fault is None:
            if kept is not items:
                kept.append(item)
            continue
        if kept is items:
            kept = items[:at]
        if len(notes) < LEFT_OUT_LIMIT:
            notes.append(fault)
            kept.append(in_place(item, f"[mcp-jail left out {fault}]"))
        else:
            more += 1
    if more:
        notes.append(f"{more} more")
        kept.append(in_place(None, f"[mcp-jail left out {more} more]"))
    return kept, tuple(notes)


def _message_in_place(message: Any, told: str) -> dict[str, Any]:
    is_reply = type(message) is dict and message.get("role") == "assistant"
    role = "assistant" if is_reply else "user"
    return {"role": role, "content": {"type": "text", "text": told}}


def _fault_of_message(message: Any, is_denied: IsDenied) -> str | None:
    """One block is the content of a message in every era; a list would be read by some clients."""
    return _fault_of_shape("a message", message) or _fault_of_block(
        message.get("content"), is_denied
    )


def _fault_of_block(block: Any, is_denied: IsDenied) -> str | None:
    fault = _fault_of_shape("content", block)
    if fault:
        return fault
    match block.get("type"):
        case "text" | "image" | "audio":
            return None
        case "resource_link":
            return _fault_of_uri("a link", block.get("uri"), is_denied) or _fault_of_icons(block)
        case "resource":
            return _fault_of_resource("an embedded resource", block.get("resource"), is_denied)
        case kind:
            return f"content of the unknown kind {quoted(kind)}"


def _fault_of_resource(what: str, resource: Any, is_denied: IsDenied) -> str | None:
    return _fault_of_shape(what, resource) or _fault_of_uri(what, resource.get("uri"), is_denied)


def _fault_of_shape(what: str, value: Any) -> str | None:
    if type(value) is not dict:
        return f"{what} that is no object"
    if len({key.casefold() for key in value}) != len(value):
        return f"{what} with keys that differ only in case"
    return None


def _fault_of_uri(what: str, uri: Any, is_denied: IsDenied) -> str | None:
    if type(uri) is not str:
        return f"{what} without a URI"
    refused = _schemes(uri) & REFUSED_SCHEMES
    if refused:
        return f"{what} to {quoted(uri)}: {min(refused)} is never passed on"
    if is_denied(uri):
        return f"{what} to {quoted(uri)}, which the user's policy does not allow"
    return None


def _fault_of_icons(link: dict[str, Any]) -> str | None:
    """An icon may be data (2025-11-25) but no script."""
    icons = link.get("icons", [])
    if type(icons) is not list:
        return "a link whose icons are no list"
    for icon in icons:
        source = icon.get("src") if type(icon) is dict else None
        if type(source) is not str or _schemes(source) & SCRIPTS:
            return "a link with an icon that is no picture"
    return None


def _with_allowed_icons(items: list[Any], is_denied: IsDenied) -> list[Any]:
    """The items without icons that a client would fetch from where no link may lead."""
    kept = items
    for at, item in enumerate(items):
        shown = _allowed_icons(item, is_denied)
        if shown is not item:
            kept = list(items) if kept is items else kept
            kept[at] = shown
    return kept


def _allowed_icons(item: Any, is_denied: IsDenied) -> Any:
    """A link, or a message with one, without such icons; the same object where it has none."""
    if type(item) is not dict:
        return item
    if type(item.get("content")) is dict:
        content = _allowed_icons(item["content"], is_denied)
        return item if content is item["content"] else item | {"content": content}
    icons = item.get("icons")
    if type(icons) is not list:
        return item
    left = [icon for icon in icons if not _is_denied_icon(icon, is_denied)]
    return item if len(left) == len(icons) else item | {"icons": left}


def _is_denied_icon(icon: Any, is_denied: IsDenied) -> bool:
    source = icon.get("src") if type(icon) is dict else None
    return type(source) is str and not _schemes(source) & REFUSED_SCHEMES and is_denied(source)


# Browsers cut white space and control at the ends of a URL and tabs and line ends anywhere in it
# (WHATWG URL, 4.4); others cut more. Cutting too much only refuses.
_CUT = re.compile(r"[\s\x00-\x20\x7f-\xa0]+")


def _schemes(uri: str) -> set[str]:
    """What a program may take for the scheme of a URI, in lower case."""
    found = set()
    for form in (uri, *readings_of_uri(uri)):
        head, colon, _ = form.partition(":")
        if colon:
            found.add(_CUT.sub("", stripped(head)).lower())
    return found
