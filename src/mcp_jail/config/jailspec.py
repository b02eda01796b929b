"""A policy to the jail it asks for: what is shared, and the server's own part of the environment.

What every jail has (PATH, HOME, a tool chain) is the plan's matter, as is what of it this machine
can give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_jail.core.policy import HostEntry, NetworkMode, Policy, Via
from mcp_jail.core.rules.hosts import read_rule
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import PolicyError

# Where a jail's proxy is spoken to, inside: the port that proxies have by custom.
DOOR: Final = 3128

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def jail_spec(
    policy: Policy,
    command: tuple[str, ...],
    *,
    home: str,
    environ: Mapping[str, str],
    client_cwd: str,
) -> JailSpec:
    """The jail of one policy for one user; PolicyError for a path that is not absolute or `~/`.

    `command` is what is started, word for word. `client_cwd` is where the client started us; the
    policy's own `server.cwd` goes before it. Variables of `env.pass` that are not set are left out.
    """
    declared = policy.server.cwd if policy.server is not None else None
    files = policy.filesystem
    shares = (
        *(_share(path, Access.READ_ONLY, home) for path in files.read_only),
        *(_share(path, Access.READ_WRITE, home) for path in files.read_write),
    )
    passed = {name: environ[name] for name in policy.env.pass_ if name in environ}
    network = policy.network
    has_door = network.via is Via.PROXY and network.mode is NetworkMode.ALLOWLIST
    return JailSpec(
        name=policy.name,
        command=command,
        cwd=client_cwd if declared is None else _absolute(declared, home, "server.cwd"),
        shares=shares,
        env={**(_proxy_variables(policy) if has_door else {}), **passed, **policy.env.set},
        secrets=policy.env.secret,
        private_tmp=files.tmp,
        host_network=network.mode is NetworkMode.HOST,
        door=DOOR if has_door else None,
    )


def _proxy_variables(policy: Policy) -> dict[str, str]:
    """What tells programs of the proxy, those that ask.

    A server's own services on its loopback are spoken to directly, unless a rule means the host's.
    """
    entries = (e.host if isinstance(e, HostEntry) else e for e in policy.network.allow)
    is_opened = any(read_rule(entry).host in _LOOPBACK for entry in entries)
    apart = "" if is_opened else ",".join(_LOOPBACK)
    proxy = f"http://127.0.0.1:{DOOR}"
    values = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": apart}
    # Programs read either spelling; Node reads them where it is told to (22.21, 24).
    return values | {name.lower(): v for name, v in values.items()} | {"NODE_USE_ENV_PROXY": "1"}


def _share(path: str, access: Access, home: str) -> Share:
    key = "filesystem.read_only" if access is Access.READ_ONLY else "filesystem.read_write"
    return Share(path=_absolute(path, home, key), access=access, why=key)


def _absolute(path: str, home: str, key: str) -> str:
    absolute = expand_home(path, home)
    if absolute is None or "$" in path:
        raise PolicyError(f"{key}: '{path}' is not absolute", hint="begin with '/' or '~/'")
    return absolute
