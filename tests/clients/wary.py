"""mcp-jail in front of a server that may do everything by itself and may ask for nothing.

The one policy of the tests about tricks on the wire and about the openings of hosts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clients.ways import Jailed
from mcp_jail.store.places import Places, find_places


class Wary(Jailed):
    """Every tool and resource is allowed; what the server asks of client and user is denied."""

    POLICY = """\
name: {name}
filesystem:
  read_only: [{servers}]
  read_write: [{folder}]
tools: {{default: allow}}
resources: {{default: allow}}
sampling: deny
elicitation: deny
lock: {{enabled: false}}
"""

    @property
    def places(self) -> Places:
        """Where this policy's audit and notes lie."""
        return find_places(self.environment)

    def audit(self, name: str) -> list[dict[str, Any]]:
        """The entries of an audit."""
        lines = Path(self.places.audit(name)).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
