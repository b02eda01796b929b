"""Lines of Python on a machine of their own: `gate.world` says what there is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

HERE: Final = Path(__file__).resolve().parent

# A process of its own: the one that runs the tests has threads, and stays where it is.
PREAMBLE: Final = """
import json, os, sys
from gate.internet import *
from gate.world import *
FOLDER = sys.argv[1]
def tell(value): print(json.dumps(value), flush=True)
HOSTS = {
    "api.example.com": [PUBLIC],
    "other.example.com": [OTHER],
    "both.example.com": [PUBLIC6, PUBLIC],
    "dead.example.com": ["2606:4700::99", PUBLIC],
    "inner.example.com": [PRIVATE],
    "meta.example.com": [METADATA],
    "own.example.com": [OWN],
    "loop.example.com": ["127.0.0.1"],
    "mixed.example.com": ["127.0.0.1", METADATA, PUBLIC],
    "evil.example.com": [OTHER],
}
"""


@pytest.fixture
def on_a_machine(tmp_path: Path) -> Callable[..., Any]:
    """Run lines after the preamble; what they `tell`."""

    def run(code: str, *arguments: str, timeout: int = 100) -> Any:
        source = HERE.parent.parent / "src"
        paths = [str(source), str(HERE.parent), *(p for p in sys.path if "site-packages" in p)]
        folder = tmp_path / "machine"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(code), str(folder), *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
