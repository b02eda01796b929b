"""What the guard may load, asked by `test_architecture` of its parts and `test_guard` of a run."""

from __future__ import annotations

import sys
from typing import Final

# Of others' packages the guard may load these; everything else of it is the standard library.
# msgspec takes typing_extensions where that happens to be installed, as it is for our tests;
# sitecustomize is a distribution's own, loaded by its interpreter before our first line.
GUARD_PACKAGES: Final = frozenset(
    {"mcp_jail", "msgspec", "yaml", "typing_extensions", "sitecustomize"}
)

# Parts of the standard library that cost the guard's start more than they give.
GUARD_SHUNS: Final = frozenset(
    "argparse asyncio concurrent dataclasses email http importlib.metadata json logging "
    "multiprocessing pathlib shutil sqlite3 ssl subprocess tempfile unittest urllib xml".split()
)


def foreign_packages(loaded: set[str]) -> set[str]:
    """The packages among modules that the guard may not load."""
    roots = {name.partition(".")[0] for name in loaded}
    made_by_cython = {name for name in roots if name.lstrip("_").startswith("cython_")}
    return roots - sys.stdlib_module_names - GUARD_PACKAGES - made_by_cython
