"""Whether a path lies under a directory, judged as the kernel would walk it, inside and outside.

A prefix test on text says nothing: links, `..` after a link, and a second file tree inside the jail
each lead elsewhere (CVE-2025-53109, CVE-2025-53110). So a path is walked one component at a time in
both trees, as written and as a server that cleans paths first would read it; all readings must end
under an allowed root. Shapes that some program expands later (`~`, `$HOME`, `%2e`, `file:`) are
refused before.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mcp_jail.core.rules.outlook import OPAQUE, Outlook, Seen, SeenKind, Space

# Bytes of a path with its NUL, and of one component: include/uapi/linux/limits.h.
PATH_MAX = 4096
NAME_MAX = 255

# Links followed in one walk, path_resolution(7); the 41st is ELOOP.
LINKS_MAX = 40

Parts = tuple[str, ...]


def expand_home(path: str, home: str) -> str | None:
    """A path of the policy made absolute: `~` and `~/x` only; None for anything else relative."""
    if path == "~":
        return home
    if path.startswith("~/"):
        return f"{home.rstrip('/')}/{path[2:]}"
    return path if path.startswith("/") else None


def refused_shape(path: str) -> str | None:
    """Why no walk is tried for an argument, or None; the text completes "the path ..."."""
    if _is_plain(path):
        return None
    if not 0 < len(path) < PATH_MAX:
        return "is too long" if path else "is empty"
    if path != path.strip():
        return "begins or ends with white space"
    for pattern, reason in _REFUSED_SHAPES:
        if pattern.search(path):
            return reason
    size = len(path.encode())
    if size >= PATH_MAX or any(len(part.encode()) > NAME_MAX for part in path.split("/")):
        return "is too long"
    return None


def resolve(path: str, look: Callable[[str], Seen]) -> Parts | None:
    """The components a path ends at when the kernel walks it, None where it does not resolve.

    A missing last component resolves, so that a file can be made; so does a missing directory on
    the way, which a server may make first, unless a `..` follows it.
    """
    waiting = _components(path)[::-1]
    done: list[str] = []
    links = 0
    while waiting:
        part = waiting.pop()
        if part == ".":
            continue
        if part == "..":
            del done[-1:]
            continue
        seen = look("/" + "/".join((*done, part)))
        if seen.kind is SeenKind.DIRECTORY:
            done.append(part)
        elif seen.kind is SeenKind.LINK:
            links += 1
            if links > LINKS_MAX or not seen.target:
                return None
            if seen.target.startswith("/"):
                done = []
            waiting += _components(seen.target)[::-1]
        else:
            return _end(seen.kind, (*done, part), waiting)
    return tuple(done)


def lies_under(path: str, roots: tuple[str, ...], cwd: str | None, outlook: Outlook) -> bool:
    """Whether every reading of an argument ends under one of the absolute roots, in both trees."""
    readings = _readings(path, cwd)
    if not readings:
        return False
    if len(readings) == 1 and _begins(readings[0], roots) and outlook.is_straight(readings[0]):
        return True  # a shortcut only: the walks say the same of such a path
    return all(_under_in(space, readings, roots, outlook) for space in Space)


# Nearly every path: of characters that none of the refused shapes has.
_PLAIN = re.compile(r"/[A-Za-z0-9 ._/@+=,#-]*")

# Each pair: what may not occur, and why in words. Order is the order of complaint.
_REFUSED_SHAPES = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"), "has a control character"),
    (re.compile(r"[\ud800-\udfff]"), "is not valid text"),
    (re.compile(r"\\"), "has a backslash"),
    (re.compile(r"^~"), "begins with '~'; write it out"),
    (re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:"), "is a URI; write a plain path"),
    (re.compile(r"%[0-9A-Fa-f]{2}"), "is percent-encoded; write it plainly"),
    (re.compile(r"\$[A-Za-z_{(]|%[A-Za-z_][^%/]*%"), "has a variable; write it out"),
)


def _readings(path: str, cwd: str | None) -> tuple[str, ...]:
    """The absolute paths an argument may be taken for; none where one of them is refused."""
    if _is_plain(path) and _is_clean(path):
        return (path,)  # what the rest would find
    if refused_shape(path):
        return ()  # before NFKC, which makes eighteen characters of one (U+FDFA)
    forms = (path,) if path.isascii() else (path, _compatible(path))
    readings: dict[str, None] = {}
    for form in forms:
        if (form is not path and refused_shape(form)) or not (form.startswith("/") or cwd):
            return ()
        absolute = form if form.startswith("/") else f"{cwd}/{form}"
        readings[absolute] = None
        # Many servers clean a path before they open it, and then `link/..` is another directory.
        readings[_cleaned(absolute)] = None
    return tuple(readings)


def _begins(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path begins with a root: enough where both are what they say."""
    for root in roots:  # noqa: SIM110  # half the time of any()
        if path.startswith(root) and path[len(root) :][:1] in ("", "/"):
            return True
    return False


def _under_in(
    space: Space, readings: tuple[str, ...], roots: tuple[str, ...], outlook: Outlook
) -> bool:
    seen: dict[str, Seen] = {}

    def look(path: str) -> Seen:
        # Roots and readings share their first components: one question each is enough.
        answer = seen.get(path, OPAQUE)
        if answer is OPAQUE:
            answer = seen[path] = outlook.look(space, path)
        return answer

    tops = [top for top in (resolve(root, look) for root in roots) if top is not None]
    for reading in readings:
        end = resolve(reading, look)
        if end is None or not any(end[: len(top)] == top for top in tops):
            return False
    return True


def _components(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    if path.endswith("/"):
        parts.append(".")  # a slash at the end asks for a directory
    return parts


def _end(kind: SeenKind, found: Parts, waiting: list[str]) -> Parts | None:
    """Where a walk ends at something that has no entries; `waiting` is what it still had to go."""
    if kind is SeenKind.FILE and not waiting:
        return found
    if kind is SeenKind.MISSING and ".." not in waiting:
        return (*found, *(part for part in reversed(waiting) if part != "."))
    return None


def _cleaned(path: str) -> str:
    """The path with `.`, `..` and doubled slashes taken out by text alone, as servers do it."""
    if _is_clean(path):
        return path
    done: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del done[-1:]
        elif part not in ("", "."):
            done.append(part)
    return "/" + "/".join(done)


def _is_plain(path: str) -> bool:
    """Whether a path is absolute, short, and of characters that no refused shape has."""
    return len(path) <= NAME_MAX and _PLAIN.fullmatch(path) is not None and path[-1] != " "


def _is_clean(path: str) -> bool:
    """Whether an absolute path has no empty component and none that begins with a dot."""
    return "//" not in path and "/." not in path and path[-1] != "/"


def _compatible(path: str) -> str:
    """The NFKC form, in which full-width dots and slashes are plain ones."""
    from unicodedata import normalize  # noqa: PLC0415  (seldom needed, a megabyte of tables)

    return normalize("NFKC", path)
