"""A workshop whose figures are of the mcp-jail of this environment, so that nothing is built."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lanes import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, str(Path(sys.executable).with_name("mcp-jail")))
