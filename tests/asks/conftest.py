"""A bus for each test, in a directory with a short name, as sockets have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_bus import private_bus


@pytest.fixture
def bus(dbus_daemon: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with private_bus(dbus_daemon, tmp_path_factory.mktemp("bus")) as socket:
        yield socket
