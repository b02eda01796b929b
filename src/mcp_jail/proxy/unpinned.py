"""A policy whose package is `unpinned: true`: what it opens so that `npx` and `uvx` can fetch.

The registry's hosts join `network.allow`, its address the environment, and HOME is kept, which is
where npm and uv have their caches: of this server alone. `show` and the gate see the policy so.

Only files say which registry: the variables of a client's entry may be somebody else's words.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_jail.core.policy import Env, Home, HostEntry, Network, NetworkMode, Policy
from mcp_jail.packages.indexes import python_source
from mcp_jail.packages.npm_settings import npm_source
from mcp_jail.packages.registries import Reach, Source, without_login

_NPM: Final = {"npm_config_update_notifier": "false", "npm_config_fund": "false"}
_UV: Final = {"UV_PYTHON_DOWNLOADS": "never"}


def with_registry(policy: Policy, home: str) -> Policy:
    """The policy with its registry opened; PackageError for settings that cannot be used."""
    is_npm = policy.package is not None and policy.package.npm is not None
    source = npm_source({}, home) if is_npm else python_source({}, home, with_logins=False)
    return msgspec.structs.replace(
        policy,
        network=_network(policy.network, source.hosts),
        filesystem=msgspec.structs.replace(policy.filesystem, home=Home.KEEP),
        env=_env(policy.env, _settings(source, is_npm=is_npm)),
    )


def _settings(source: Source, *, is_npm: bool) -> dict[str, str]:
    """How npm or uv are told of the registries; never a login, which the server could read."""
    first, *others = map(without_login, source.urls)
    if is_npm:
        return {"npm_config_registry": first, **_NPM}
    more = {"UV_INDEX": " ".join(others)} if others else {}
    return {"UV_DEFAULT_INDEX": first, **more, **_UV}


def _network(network: Network, hosts: tuple[Reach, ...]) -> Network:
    """What the policy opens, and the registry; what a policy without a network lists opens not."""
    if network.mode is NetworkMode.HOST:
        return network
    own = network.allow if network.mode is NetworkMode.ALLOWLIST else ()
    known = {entry.host if isinstance(entry, HostEntry) else entry for entry in own}
    more = tuple(
        HostEntry(host=each.host) if each.is_tls else each.host
        for each in hosts
        if each.host not in known
    )
    return msgspec.structs.replace(network, mode=NetworkMode.ALLOWLIST, allow=(*own, *more))


def _env(env: Env, settings: dict[str, str]) -> Env:
    """The policy's own words go before ours."""
    named = {*env.pass_, *env.secret}
    ours = {name: value for name, value in settings.items() if name not in named}
    return msgspec.structs.replace(env, set=ours | env.set)
