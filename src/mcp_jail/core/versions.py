"""Which of two versions is the newer one, by the rules of their registry. Pure."""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.core.packages import PackageKind

# Something to sort by: a number or a word.
Part = tuple[int, int, str]

_PYPI: Final = re.compile(
    r"(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?:(?P<pre>a|b|rc)(?P<pre_number>[0-9]+))?"
    r"(?:\.post(?P<post>[0-9]+))?(?:\.dev(?P<dev>[0-9]+))?(?:\+(?P<local>.+))?"
)
_PRE: Final = {"dev": -1, "a": 0, "b": 1, "rc": 2}
_FINAL: Final = 3
_LAST: Final = (2, 0, "")  # after every other part


def is_newer(kind: PackageKind, version: str, than: str) -> bool:
    """Whether a version is newer than another; False for two that are the same by their rules."""
    if kind is PackageKind.NPM:
        return _of_npm(version) > _of_npm(than)
    return _of_pypi(version) > _of_pypi(than)


def _of_npm(version: str) -> tuple[tuple[int, ...], tuple[Part, ...]]:
    """By semver 2.0, 11: a pre-release before its release, what is built does not count."""
    plain, _, pre = version.partition("+")[0].partition("-")
    release = tuple(int(number) for number in plain.split("."))
    return release, tuple(map(_part, pre.split("."))) if pre else (_LAST,)


def _of_pypi(version: str) -> tuple[int, tuple[int, ...], tuple[int, int], int, float, list[Part]]:
    """By PEP 440: development, pre-release, release, post-release; a local version after each."""
    found = _PYPI.fullmatch(version)
    if found is None:
        raise ValueError(f"'{version}' is no version")
    post = -1 if found["post"] is None else int(found["post"])
    dev = float("inf") if found["dev"] is None else int(found["dev"])
    pre = (_PRE[found["pre"]], int(found["pre_number"])) if found["pre"] else (_FINAL, 0)
    if pre[0] == _FINAL and post < 0 and found["dev"] is not None:
        pre = (_PRE["dev"], 0)
    local = [_local(text) for text in re.split(r"[._-]", found["local"] or "") if text]
    return int(found["epoch"] or 0), _release(found["release"]), pre, post, dev, local


def _release(text: str) -> tuple[int, ...]:
    """1.0 is 1."""
    numbers = [int(number) for number in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _part(text: str) -> Part:
    """Numbers before words."""
    return (0, int(text), "") if text.isdecimal() else (1, 0, text)


def _local(text: str) -> Part:
    """Words before numbers."""
    return (1, int(text), "") if text.isdecimal() else (0, 0, text)
