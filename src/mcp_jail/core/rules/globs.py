"""Name globs: `*` for any run of characters, `?` for one; case counts, nothing else is special.

No regular expressions: the cost is bounded by the length of the name times that of the pattern,
and the pattern is the user's.
"""

from __future__ import annotations


def is_glob(pattern: str) -> bool:
    """Whether a name has a wildcard; a name without one is exact."""
    return "*" in pattern or "?" in pattern


def literal_count(pattern: str) -> int:
    """How many characters of a pattern stand for themselves: more of them wins over fewer."""
    return len(pattern) - pattern.count("*") - pattern.count("?")


def glob_matches(pattern: str, name: str) -> bool:
    """Whether a pattern fits a whole name."""
    head, *rest = pattern.split("*")
    if not rest:
        return len(name) == len(head) and _fits_at(head, name, 0)
    *middle, tail = rest
    end = len(name) - len(tail)
    if end < len(head) or not _fits_at(head, name, 0) or not _fits_at(tail, name, end):
        return False
    position = len(head)
    for part in middle:
        position = _find(part, name, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def globs_overlap(one: str, other: str) -> bool:
    """Whether some name fits both patterns."""
    # One row of a table for each character of `one`, from its end: `row[j]` says whether what is
    # left of `one` overlaps with other[j:].
    row = [set(other[start:]) <= {"*"} for start in range(len(other) + 1)]
    for want in reversed(one):
        below, row = row, [want == "*" and row[-1]]
        for start in range(len(other) - 1, -1, -1):
            have = other[start]
            if "*" in {want, have}:
                row.append(below[start] or row[-1])
            else:
                row.append((want == have or "?" in {want, have}) and below[start + 1])
        row.reverse()
    return row[0]


def _fits_at(part: str, name: str, position: int) -> bool:
    """Whether a part without `*` fits at a position that leaves room for it."""
    if "?" not in part:
        return name.startswith(part, position)
    return all(want in ("?", name[position + offset]) for offset, want in enumerate(part))


def _find(part: str, name: str, start: int, end: int) -> int:
    """The leftmost position from start where a part fits before end, or -1."""
    if "?" not in part:
        return name.find(part, start, end)
    for position in range(start, end - len(part) + 1):
        if _fits_at(part, name, position):
            return position
    return -1
