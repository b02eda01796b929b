"""The forms that a server may take a resource's URI for; a policy must allow every one of them.

`FILE:/etc/passwd`, `file://localhost/etc/passwd` and `file:///etc/%70asswd` are one file to a URL
parser and four texts to a glob.
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
        forms[decoded] = None
        forms[_cleaned(decoded)] = None
        once_more = _decoded(decoded)
        if once_more == decoded:
            return tuple(forms)
        decoded = once_more
    return ()


_REFUSED = re.compile(r"^\s|\s$|[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)
_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _cleaned(uri: str) -> str:
    """Scheme and host in lower case, `file:` in its three-slash form, no `.` or `..` or `//`."""
    split = _SCHEME.fullmatch(uri)
    if split is None:
        return uri
    scheme, rest = split[1].lower(), split[2]
    with_authority = _AUTHORITY.fullmatch(rest)
    authority, path = (
        (with_authority[1].lower(), with_authority[2]) if with_authority else ("", rest)
    )
    if scheme == "file":
        authority = "" if authority in ("localhost", "localhost.", "127.0.0.1") else authority
        return f"file://{authority}{_without_dots(path)}"
    if with_authority is None:
        return f"{scheme}:{path}"
    return f"{scheme}://{authority}{_without_dots(path)}"


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
