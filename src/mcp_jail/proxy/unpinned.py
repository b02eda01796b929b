"""A policy whose package is `unpinned: true`: what it opens so that `npx` and `uvx` can fetch.

The registry's hosts join `network.allow`, its address the environment, and HOME is kept, which is
where npm and uv have their caches: of this server alone. `show` and the gate see the policy so.

Only files say which registry: the variables of a client's entry may be somebody else's words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from mcp_jail.core.policy import Env, Home, HostEntry, Network, NetworkMode, Policy
from mcp_jail.errors import UsageError
from mcp_jail.packages.indexes import python_source
from mcp_jail.packages.npm_settings import npm_source
from mcp_jail.packages.registries import Reach, Source
from mcp_jail.packages.uv_settings import CHOOSING
from mcp_jail.sandbox.search_path import search_path, this_account
from mcp_jail.sandbox.toolchain import discover

_NPM: Final = {"npm_config_update_notifier": "false", "npm_config_fund": "false"}
_UV: Final = {"UV_PYTHON_DOWNLOADS": "never"}


def with_registry(policy: Policy, home: str, environ: Mapping[str, str]) -> Policy:
    """The policy with its registry opened; PackageError for settings that cannot be used.

    `environ` says which npm a start would take: beside it there may be settings too.
    """
    path = policy.env.set.get("PATH") or environ.get("PATH") or os.defpath
    find = partial(_find, path=path, home=home)
    is_npm = policy.package is not None and policy.package.npm is not None
    source = npm_source({}, home, find) if is_npm else python_source({}, home, with_logins=False)
    return msgspec.structs.replace(
        policy,
        network=_network(policy.network, source.hosts),
        filesystem=msgspec.structs.replace(policy.filesystem, home=Home.KEEP),
        env=_env(policy.env, _settings(source, is_npm=is_npm)),
    )


def _find(program: str, *, path: str, home: str) -> str | None:
    searched = search_path(program, path, home, this_account())
    try:
        return discover((program,), path=searched, cwd="/", home=home).executable
    except UsageError:
        return None


def _settings(source: Source, *, is_npm: bool) -> dict[str, str]:
    """How npm or uv are told of the registries; never a login, which the server could read."""
    first, *others = source.urls
    if is_npm:
        scopes = {f"npm_config_{name}:registry": url for name, url in source.scopes.items()}
        return {"npm_config_registry": first, **scopes, **_NPM}
    more = {"UV_INDEX": " ".join(others)} if others else {}
    chosen = {key: source.env[key] for key in CHOOSING if key in source.env}
    return {"UV_DEFAULT_INDEX": first, **more, **chosen, **_UV}


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
