"""The forms that a server may take a resource's URI for; a policy must allow every one of them.

`FILE:/etc/passwd`, `file://localhost/etc/passwd`, `file://x/etc/passwd?y` and `file:///etc/%70asswd`
are one file to some URL parser (RFC 3986, WHATWG, Python's) and four texts to a glob. A reading too
many only denies, so all of them count.
"""

from __future__ import annotations

import re

# Characters of a URI; beyond this it is not read at all.
URI_LIMIT = 8192

# How often text is percent-decoded until it must have come to rest; `%252e` needs two.
DECODE_LIMIT = 4


def readings_of_uri(uri: str) -> tuple[str, ...]:
    """The URI as written and in every cleaned form; empty where it is refused outright.

    Refused: empty or too long, control characters, white space at an end, backslashes, lone
    surrogates, and percent-encoding that goes deeper than four times.
    """
    forms: dict[str, None] = {}
    decoded = uri
    for _ in range(DECODE_LIMIT):
        if len(decoded) > URI_LIMIT or not decoded.strip() or _REFUSED.search(decoded):
            return ()
        for form in _forms(decoded):
            forms[form] = None
        once_more = _decoded(decoded)
        if once_more == decoded:
            return tuple(forms)
        decoded = once_more
    return ()


_REFUSED = re.compile(r"^\s|\s$|[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)
_QUERY = re.compile(r"[?#]")
_PARAMETERS = re.compile(r"[?#;]")
_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


# Schemes for which WHATWG parsers take any number of slashes for two, and their default ports.
_SPECIAL = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443", "ftp": ":21"}


def _forms(uri: str) -> tuple[str, ...]:
    """A text as it is, cleaned, and as each kind of parser would cut it."""
    split = _SCHEME.fullmatch(uri)
    if split is None:
        if not uri.startswith("/"):
            return (uri,)
        path = f"file://{_without_dots(uri)}"  # many servers take a plain path
        return (uri, path, *_forms_of("file", uri))
    return (uri, *_forms_of(split[1].lower(), split[2]))


def _forms_of(scheme: str, rest: str) -> list[str]:
    found: list[str] = []
    for text in (rest, _QUERY.split(rest, maxsplit=1)[0], _PARAMETERS.split(rest, maxsplit=1)[0]):
        slashed = "//" + text.lstrip("/") if scheme in _SPECIAL else text
        for each in dict.fromkeys((text, slashed)):
            form = _cleaned(scheme, each)
            found += [form, form.rstrip("/") or form]
    return found


def _cleaned(scheme: str, rest: str) -> str:
    """Host in lower case without what does not change it, no `.` or `..` or `//` in the path."""
    with_authority = _AUTHORITY.fullmatch(rest)
    if with_authority is None:
        return f"file://{_without_dots(rest)}" if scheme == "file" else f"{scheme}:{rest}"
    authority, path = with_authority[1].lower().rpartition("@")[2], with_authority[2]
    if scheme == "file":
        return f"file://{_without_dots(path)}"  # whatever host: it is read here
    host = authority.removesuffix(_SPECIAL.get(scheme, "")).removesuffix(".")
    return f"{scheme}://{host}{_without_dots(path)}"


def _without_dots(path: str) -> str:
    done: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del done[-1:]
        elif part not in ("", "."):
            done.append(part)
    slash = "/" if done and path.endswith("/") else ""
    return "/" + "/".join(done) + slash


def _decoded(text: str) -> str:
    return _ENCODED.sub(_decode_run, text)


def _decode_run(run: re.Match[str]) -> str:
    # Bytes that are not UTF-8 (overlong `%c0%af`) become lone surrogates, which are refused.
    return bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "surrogateescape")
