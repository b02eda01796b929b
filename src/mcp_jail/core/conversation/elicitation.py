"""What a server may ask a person through the client, and what the person's answer may carry.

A form is one level of plain fields (2025-06-18 to 2026-07-28); everything of it that is shown is
short, hides nothing and asks for no secret. A URL (since 2025-11-25) is https and names a host on
the internet that a person can read: no user name, no address, no `xn--`, no name of this network.
What a name resolves to is not known here. Each reason is for the audit and the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from mcp_jail.core.conversation.forms import (
    NAME_LIMIT,
    fault_of_field,
    fault_of_labels,
    fault_of_shown,
    fault_of_value,
    is_typed,
)
from mcp_jail.core.conversation.secret_asks import secret_in_name, secret_in_text
from mcp_jail.core.rules.constraints import quoted
from mcp_jail.core.rules.hosts import DEFAULT_PORT, HostAndPort, host_of_argument, is_near

# Characters and lines of the message. A longer one pushes the question out of sight.
MESSAGE_LIMIT = 2_000
LINES_LIMIT = 30

# Fields of one form: more than that nobody reads.
FIELDS_LIMIT = 20

# Bytes of a form's schema as JSON: all countries fit, and looking for secrets takes 0.1 s at most.
SCHEMA_LIMIT = 32 * 1024

# Characters of a URL that a person is asked to open, and of the id it is spoken of by.
URL_LIMIT = 2_048
ID_LIMIT = 256


def fault_of_form(params: dict[str, Any]) -> str | None:
    """Why the params of a form (`elicitation/create`) may not be passed on; None if they may.

    A form with something to type or write in must not speak of a secret anywhere; one of choices
    and yes-or-no only may, as it cannot take one.
    """
    fault = _fault_of_members(params, _FORM_MEMBERS)
    if fault:
        return fault
    if params.get("mode", "form") != "form":
        return f"the mode is {quoted(params['mode'])}, not 'form'"
    schema = params.get("requestedSchema")
    if type(schema) is not dict:
        return "a form needs a requestedSchema, an object"
    return (
        _fault_of_message(params.get("message"))
        or _fault_of_schema(schema)
        or _secret_asked(params["message"], schema)
    )


def fault_of_url(params: dict[str, Any]) -> str | None:
    """Why the params of a URL (`elicitation/create`) may not be passed on; None if they may.

    Any port may stand in it; `shown_host` says which. `elicitationId` may be missing, as 2026-07-28
    has none.
    """
    fault = _fault_of_members(params, _URL_MEMBERS)
    if fault:
        return fault
    if params.get("mode") != "url":
        return f"the mode is {quoted(params.get('mode'))}, not 'url'"
    fault = _fault_of_message(params.get("message"))
    if fault or "elicitationId" not in params:
        return fault or _fault_of_address(params.get("url"))
    return _fault_of_id(params["elicitationId"]) or _fault_of_address(params.get("url"))


def shown_host(url: str) -> str:
    """The host a URL leads to, with its port where that is not 443, as a person should be told."""
    place = host_of_argument(url)
    if place is None:
        return "a host that cannot be told"
    host = f"[{place.host}]" if ":" in place.host else place.host
    return host if place.port == DEFAULT_PORT else f"{host}:{place.port}"


def fault_of_answer(params: dict[str, Any], result: dict[str, Any]) -> str | None:
    """Why a client's answer to these params may not go to the server; None if it may.

    The params must be without fault. Only an accepted form has content: fields it asked for, each
    of its kind, none missing that it requires.
    """
    unknown = sorted(result.keys() - _ANSWER_MEMBERS)
    if unknown:
        return f"an answer has no {quoted(unknown[0])}"
    action = result.get("action")
    if action not in _ACTIONS:
        return f"the action is {quoted(action)}, not accept, decline or cancel"
    if result.get("resultType", "complete") != "complete":
        return "an answer is complete"
    content = result.get("content")
    if action != "accept" or params.get("mode") == "url":
        return "only an accepted form has content" if content else None
    if content is None:
        content = {}
    if type(content) is not dict:
        return "the content is not an object"
    return _fault_of_content(params.get("requestedSchema"), content)


_FORM_MEMBERS = frozenset({"mode", "message", "requestedSchema", "_meta"})
_URL_MEMBERS = frozenset({"mode", "message", "url", "elicitationId", "_meta"})
_ANSWER_MEMBERS = frozenset({"action", "content", "resultType", "_meta"})
_ACTIONS = ("accept", "decline", "cancel")

# Pydantic writes a title, zod `additionalProperties`.
_SCHEMA_MEMBERS = frozenset(
    {"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}
)

# With these names an object of JavaScript gets another prototype.
_NEVER_NAMES = frozenset({"__proto__", "constructor", "prototype"})


def _fault_of_members(params: dict[str, Any], known: frozenset[str]) -> str | None:
    unknown = sorted(params.keys() - known)
    if unknown:
        return f"{quoted(unknown[0])} is not passed on"
    if type(params.get("_meta", {})) is not dict:
        return "_meta is not an object"
    return None


def _fault_of_message(message: Any) -> str | None:
    if type(message) is not str or not message.strip():
        return "the message is empty or no text"
    return fault_of_shown("the message", message, MESSAGE_LIMIT, LINES_LIMIT)


def _fault_of_schema(schema: dict[str, Any]) -> str | None:
    unknown = sorted(schema.keys() - _SCHEMA_MEMBERS)
    if unknown:
        return f"a form's schema has no {quoted(unknown[0])}"
    fields = schema.get("properties")
    if schema.get("type") != "object" or type(fields) is not dict:
        return "a form's schema is an object with properties"
    if len(fields) > FIELDS_LIMIT or len(msgspec.json.encode(schema)) > SCHEMA_LIMIT:
        return f"the form has more than {FIELDS_LIMIT} fields or {SCHEMA_LIMIT} bytes"
    if len({name.casefold() for name in fields}) != len(fields):
        return "two fields differ only in case"
    return (
        _fault_of_required(schema.get("required", []), fields)
        or fault_of_labels("the form", schema)
        or _first(_fault_of_named_field(name, field) for name, field in fields.items())
    )


def _fault_of_required(required: Any, fields: dict[str, Any]) -> str | None:
    if type(required) is not list or not all(type(name) is str for name in required):
        return "required is not a list of names"
    if not fields.keys() >= set(required):
        return "a field is required that the form does not have"
    return None


def _fault_of_named_field(name: str, field: Any) -> str | None:
    if not name or name in _NEVER_NAMES or not name.isprintable():
        return f"{quoted(name)} is no name of a field"
    what = f"the field {quoted(name)}"
    return fault_of_shown(f"the name {quoted(name)}", name, NAME_LIMIT) or fault_of_field(
        what, field
    )


def _secret_asked(message: str, schema: dict[str, Any]) -> str | None:
    fields = schema["properties"]
    if not any(map(is_typed, fields.values())):
        return None
    for name, field in fields.items():
        # What is chosen is no secret, but it may say what is to be typed beside it.
        secret = (secret_in_name if is_typed(field) else secret_in_text)(name)
        secret = secret or _secret_of_shown(field)
        if secret:
            return f"the field {quoted(name)} asks for a secret ({secret})"
    secret = secret_in_text(message) or _secret_of_shown(schema)
    return f"the form asks for a secret ({secret})" if secret else None


def _secret_of_shown(shown: dict[str, Any]) -> str | None:
    """The secret in the texts beside a field's name; its choices and defaults are read as well."""
    title = shown.get("title", "")
    secret = secret_in_name(title) if is_typed(shown) else secret_in_text(title)
    return secret or _first(secret_in_text(text) for text in _other_texts(shown))


def _other_texts(shown: Any) -> Iterator[str]:
    match shown:
        case str():
            yield shown
        case list():
            for value in shown:
                yield from _other_texts(value)
        case dict():
            for key, value in shown.items():
                if key in _READ:
                    yield from _other_texts(value)
        case _:
            pass


_READ = frozenset(
    {"title", "description", "default", "enum", "enumNames", "oneOf", "anyOf", "items", "const"}
)


def _fault_of_id(id: Any) -> str | None:
    if type(id) is not str or not id:
        return "the elicitationId is empty or no text"
    return fault_of_shown("the elicitationId", id, ID_LIMIT)


# RFC 3986, 2: everything else must be percent-encoded; browsers take `\` for `/` and drop tabs.
_URL = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_AUTHORITY = re.compile(r"[^/?#]*")


def _fault_of_address(url: Any) -> str | None:
    fault = fault_of_shown("the url", url, URL_LIMIT)
    if fault or not _URL.fullmatch(url):
        return fault or "the url is empty or has a character that must be encoded"
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != "https":
        return "the url is not https://"
    authority = _AUTHORITY.match(rest)
    if authority and "@" in authority[0]:
        return "the url has a user name before its host"
    place = host_of_argument(url)
    if place is None:
        return "programs may read the url's host in different ways"
    return _fault_of_host(place)


def _fault_of_host(place: HostAndPort) -> str | None:
    labels = place.host.split(".")
    if ":" in place.host or labels[-1].isdigit():
        return f"{place.host} is an address, not a name"
    if any(label.startswith("xn--") for label in labels):
        return f"{place.host} is shown in other letters, which may look like another name"
    if is_near(place.host):
        return f"{place.host} is a name of this machine or its network"
    return None


def _fault_of_content(schema: Any, content: dict[str, Any]) -> str | None:
    fields = schema.get("properties") if type(schema) is dict else None
    if type(fields) is not dict:
        return "no form was asked for"
    unknown = sorted(content.keys() - fields.keys())
    if unknown:
        return f"the form has no field {quoted(unknown[0])}"
    for name in schema.get("required", []):
        if content.get(name) is None:
            return f"the field {quoted(name)} is required"
    return _first(
        fault_of_value(f"the field {quoted(name)}", fields[name], value)
        for name, value in content.items()
        if value is not None
    )


def _first(faults: Iterator[str | None]) -> str | None:
    return next(filter(None, faults), None)
