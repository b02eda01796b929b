"""A server that no policy is for: the tightest jail there is, and its program in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from mcp_jail.config import load
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.proxy.prepare import Judged, Prepared, with_jail
from mcp_jail.store.places import find_places, home_folder
from mcp_jail.store.policies import PolicyFile, PolicyKind

# What it goes by; nothing of it is written down.
NAME: Final = "unknown"

# The whole policy: no directories, no network, no environment, and no call is made.
POLICY: Final = f"name: {NAME}\ntools: {{default: deny}}\nroots: deny\n"


def prepare_unknown(command: tuple[str, ...], environ: Mapping[str, str] | None = None) -> Prepared:
    """All values of a look at an unknown server; UsageError for a command that is not there."""
    environ = os.environ if environ is None else environ
    places = find_places(environ)
    home = home_folder(environ)
    loaded = load(POLICY, NAME)
    judged = Judged(
        PolicyFile(places.policy(NAME), POLICY, PolicyKind.OWN),
        loaded.policy,
        loaded.places,
        compile_rules(loaded.policy, loaded.places, home=home, cwd=None),
        places,
        home,
        NAME,
    )
    return with_jail(judged, command, environ)
