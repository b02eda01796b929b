"""The home that tests of wrapping stand in."""

from __future__ import annotations

from pathlib import Path

import pytest

from wrap.homes import ClientHome, made


@pytest.fixture
def home(tmp_path: Path) -> ClientHome:
    return made(tmp_path)
