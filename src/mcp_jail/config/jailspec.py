"""A policy to the jail it asks for: what is shared, and the server's own part of the environment.

What every jail has (PATH, HOME, a tool chain) is the plan's matter, as is what of it this machine
can give.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcp_jail.core.paths import expand_home
from mcp_jail.core.policy import NetworkMode, Policy
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import PolicyError


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
    return JailSpec(
        name=policy.name,
        command=command,
        cwd=client_cwd if declared is None else _absolute(declared, home, "server.cwd"),
        shares=shares,
        env={**passed, **policy.env.set},
        secrets=policy.env.secret,
        private_tmp=files.tmp,
        host_network=policy.network.mode is NetworkMode.HOST,
    )


def _share(path: str, access: Access, home: str) -> Share:
    key = "filesystem.read_only" if access is Access.READ_ONLY else "filesystem.read_write"
    return Share(path=_absolute(path, home, key), access=access, why=key)


def _absolute(path: str, home: str, key: str) -> str:
    absolute = expand_home(path, home)
    if absolute is None or "$" in path:
        raise PolicyError(f"{key}: '{path}' is not absolute", hint="begin with '/' or '~/'")
    return absolute
