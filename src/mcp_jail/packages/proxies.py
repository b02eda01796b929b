"""The HTTP proxy by which a user's programs reach registries, where a machine needs one. Pure.

By the names that npm, uv and most others read: `https_proxy`, `http_proxy`, `all_proxy` and
`no_proxy`, in small or capital letters, or a setting of theirs, which goes before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from mcp_jail.core.rules.upstream import read_upstream
from mcp_jail.errors import PackageError
from mcp_jail.packages.registries import Proxy, Reach

_PORTLESS: Final = re.compile(r"(http://(?:[^@/]*@)?(?:\[[^\]]*\]|[^:/@\[\]]+))/?")


def proxy_for(
    hosts: Iterable[Reach], environ: Mapping[str, str], settings: Mapping[str, str]
) -> Proxy | None:
    """The proxy for some hosts; PackageError for one that cannot be spoken to.

    `settings` are those of npm or uv: `https-proxy`, `proxy` or `http-proxy`, `noproxy`.
    """
    hosts = tuple(hosts)
    is_tls = any(each.is_tls for each in hosts)
    source, text = _named(environ, settings, is_tls=is_tls)
    if not text:
        return None
    excepted = settings.get("noproxy") or _variable(environ, "no_proxy")
    names = {each.host: each.host.rpartition(":")[0] or each.host for each in hosts}
    direct = tuple(name for name in names.values() if _is_excepted(name, excepted))
    if len(direct) == len(names):
        return None
    url = text if "://" in text else f"http://{text}"
    portless = _PORTLESS.fullmatch(url)
    url = f"{portless[1]}:80" if portless else url
    try:
        read_upstream(url)
    except ValueError as error:
        hint = "no_proxy names hosts that are reached without it"
        raise PackageError(f"the proxy of {source} cannot be used: {error}", hint=hint) from None
    return Proxy(url, direct)


def _named(
    environ: Mapping[str, str], settings: Mapping[str, str], *, is_tls: bool
) -> tuple[str, str]:
    """Where a proxy is named, and its text."""
    keys = ("https-proxy", "proxy") if is_tls else ("http-proxy", "proxy")
    for key in keys:
        if settings.get(key) not in {None, "", "null", "false"}:
            return f"the setting '{key}'", settings[key]
    for name in ("https_proxy" if is_tls else "http_proxy", "all_proxy"):
        if _variable(environ, name):
            return name, _variable(environ, name)
    return "", ""


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_excepted(host: str, excepted: str) -> bool:
    """Whether a list of hosts and domains has this one; `*` is all of them."""
    for entry in re.split(r"[,\s]+", excepted.lower()):
        domain = entry.removeprefix("*").lstrip(".").partition(":")[0]
        if entry == "*" or (domain and (host == domain or host.endswith(f".{domain}"))):
            return True
    return False
