"""Random trees of directories, files and links, and random paths through them."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import strategies as st

# Few names, so that paths meet what is there.
NAMES = st.sampled_from(["a", "b", "c"])

# `TOP` stands for the directory all trees of one test lie in.
TOP = "TOP"
ROOTS = ("in", "also", "out")


def _joined(parts: list[str]) -> str:
    return "/".join(parts)


STEPS = st.lists(st.one_of(NAMES, st.sampled_from([".", "..", "", "in", "out"])), max_size=6)
ABSOLUTE = st.builds(
    lambda root, steps, slash: f"{TOP}/{root}/{_joined(steps)}{slash}",
    st.sampled_from(ROOTS),
    STEPS,
    st.sampled_from(["", "/", "/."]),
)
RELATIVE = STEPS.map(_joined).filter(bool)
PATHS = st.lists(ABSOLUTE, min_size=1, max_size=20)
BATCHES = st.lists(ABSOLUTE, min_size=15, max_size=40)  # a jail costs more than its paths

WHAT = st.one_of(
    st.sampled_from(["dir", "file"]),
    st.builds(lambda target: f"-> {target}", st.one_of(ABSOLUTE, RELATIVE)),
)
PLACES = st.builds(
    lambda root, names: _joined([root, *names]),
    st.sampled_from(ROOTS),
    st.lists(NAMES, min_size=1, max_size=3),
)
TREES = st.dictionaries(PLACES, WHAT, max_size=14)
RICH_TREES = st.dictionaries(PLACES, WHAT, min_size=8, max_size=20)


def grow(top: Path, tree: dict[str, str]) -> None:
    """Make a tree; what does not fit (a file where a directory is needed) is left out."""
    for root in ROOTS:
        (top / root).mkdir(parents=True)
    for place, what in sorted(tree.items()):
        path = top / place
        parents = [path.parent, *path.parent.parents]
        if any(one.is_symlink() or one.is_file() for one in parents) or os.path.lexists(path):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if what == "dir":
            path.mkdir()
        elif what == "file":
            path.write_text("x")
        else:
            path.symlink_to(what.removeprefix("-> ").replace(TOP, str(top)))
