"""Every client test runs once for each way from the client to the server."""

from __future__ import annotations

import pytest

from clients.ways import Direct, Jailed, Way


@pytest.fixture(params=["direct", "jailed"])
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Way:
    if request.param == "direct":
        return Direct()
    return Jailed(tmp_path_factory.mktemp("mcp-jail-home"))
