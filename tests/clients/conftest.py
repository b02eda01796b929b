"""Every client test runs once for each way from the client to the server."""

from __future__ import annotations

import pytest

from clients.ways import Direct, Way


@pytest.fixture(params=["direct"])
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Way:
    return Direct()
