"""The whole way from a spec to a plan on this machine: probe, discover, look, plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from mcp_jail.core.spec import JailSpec, Plan
from mcp_jail.sandbox import refuse
from mcp_jail.sandbox.look import look
from mcp_jail.sandbox.plan import inside_home, plan
from mcp_jail.sandbox.probe import Host, probe
from mcp_jail.sandbox.protected import Guarded, Ours
from mcp_jail.sandbox.search_path import search_path, this_account
from mcp_jail.sandbox.toolchain import discover

# Bytes of resolv.conf that are read; resolv.conf(5) has three servers and six domains.
RESOLV_LIMIT: Final = 64 * 1024


def build(
    spec: JailSpec,
    ours: tuple[Ours, ...] = (),
    *,
    environ: Mapping[str, str] | None = None,
    host: Host | None = None,
    declared_cwd: str | None = None,
) -> Plan:
    """The plan of a spec; `ours` are the policy, lock, audit and state paths of this run.

    `declared_cwd` is the working directory if the policy names it. Only there are settings of
    version managers read: `spec.cwd` may be where a client stands, in anybody's repository.

    ShareError for shares no jail gives, UsageError for a command that is not there.
    """
    refuse.strings(spec)  # before anything is looked at by these names
    environ = os.environ if environ is None else environ
    host = host or probe(environ)
    if spec.host_network:
        host = msgspec.structs.replace(host, resolv=_resolv())
    guarded = Guarded(
        ours=(*ours, *own_code(host.bwrap)),
        homes=tuple(dict.fromkeys((host.home, host.account_home))),
    )
    tools = discover(
        spec.command,
        path=search_path(
            spec.command[0],
            spec.env.get("PATH") or environ.get("PATH") or os.defpath,
            host.home,
            this_account(),
        ),
        cwd=spec.cwd or os.getcwd(),
        home=host.home,
        account_home=host.account_home,
        declared_cwd=declared_cwd,
    )
    looks = look(spec, tools, guarded, home=inside_home(host), uid=host.uid)
    return plan(spec, host, tools, guarded, looks)


def _resolv() -> str:
    """The host's own name servers, empty where it names none."""
    try:
        with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
            return file.read(RESOLV_LIMIT)
    except OSError:
        return ""


def own_code(bwrap: str | None) -> tuple[Ours, ...]:
    """What we ourselves are made of: our package, bwrap."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    code = [Ours(path=package, what="mcp-jail's own code")]
    if bwrap:
        code.append(Ours(path=bwrap, what="what builds the jail"))
    prefixes = dict.fromkeys((sys.prefix, sys.base_prefix))
    code += [Ours(path=p, what="the Python mcp-jail runs on") for p in prefixes if p != "/usr"]
    return tuple(code)
