"""The first policy of an entry, and what of the entry does not get into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from mcp_jail.clients.plans import Outcome
from mcp_jail.clients.servers import Server
from mcp_jail.clients.shortfalls import shortfalls
from mcp_jail.clients.targets import Ground
from mcp_jail.config import load
from mcp_jail.config.starter_policy import ServerEntry, starter_policy
from mcp_jail.core.loaders import is_loader_variable
from mcp_jail.core.policy import HostEntry, NetworkMode
from mcp_jail.errors import JailError
from mcp_jail.sandbox.offers import offers


def policy_text(ground: Ground, server: Server, name: str, words: tuple[str, ...]) -> str:
    """The first policy of an entry; JailError where none can be written."""
    launch = server.launch
    variables = {} if launch is None else launch.reaching
    entry = ServerEntry(name, words, variables, launch.cwd if launch else None)
    environ, home = ground.environ, ground.home
    offered = offers(words, environ=environ, cwd=launch.cwd if launch and launch.cwd else home)
    try:
        return starter_policy(entry, home=home, offers=offered)
    except JailError:  # words that no policy can hold: then it names no command
        nameless = msgspec.structs.replace(entry, command=())
        return starter_policy(nameless, home=home, offers=offered)


def opened_by(text: str) -> str:
    """What a policy gives its server, in a line."""
    policy = load(text, "").policy
    files, network, env = policy.filesystem, policy.network, policy.env
    hosts = [each.host if isinstance(each, HostEntry) else each for each in network.allow]
    if network.mode is not NetworkMode.ALLOWLIST:
        hosts = ["this machine's own"] if network.mode is NetworkMode.HOST else []
    parts = (
        ("reads", files.read_only),
        ("writes", files.read_write),
        ("network", hosts),
        ("variables", (*env.pass_, *env.set, *env.secret)),
    )
    said = [f"{what} {', '.join(each)}" for what, each in parts if each]
    return "; ".join(said) or "no file of yours, no network, no variable"


def unfilled(text: str) -> list[str]:
    """What a first policy says of directories that it does not share, as a client fills them in."""
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    joined = " ".join(lines).split("Left out: ")[1:]
    return [said.partition(";")[0] for said in joined if _FILLED_IN in said.partition(";")[0]]


# As `config.starter_wants` says it.
_FILLED_IN: Final = "is filled in by the client"


def shortfall(
    ground: Ground,
    server: Server,
    name: str,
    words: tuple[str, ...],
    text_of: Callable[[str], str],
) -> str:
    """What to know of an entry whose policy was made for another one."""
    reaching = {} if server.launch is None else server.launch.reaching
    try:
        meant = policy_text(ground, server, name, words)
    except JailError:  # no first policy can be written for it: the one that is there has to do
        return ""
    missing = shortfalls(meant, text_of(name), {*reaching}, ground.home)
    if not missing:
        return ""
    return (
        f"'{server.name}' gets what the policy '{name}' shares, which is for the same command and "
        f"has not {', '.join(missing)}: put that in if this server is to have it"
    )


def notes_of(server: Server, outcome: Outcome, text: str) -> Iterator[str]:
    """What of an entry does not reach its server by its policy, or only once a person says so."""
    launch = server.launch
    for said in unfilled(text) if outcome.policy_is_new else ():
        yield (
            f"'{server.name}': {said}, so its policy '{outcome.policy}' does not share it; write "
            "into that policy, say, filesystem: {read_write: [~/DIRECTORY]}"
        )
    if launch is None:
        return
    if launch.variables_file:
        yield (
            f"'{server.name}' has variables in '{launch.variables_file}': all of them reach "
            "mcp-jail itself first (one such as MCP_JAIL_HOME would have it go by another policy), "
            f"so let nobody else write there; the server gets those that env.pass of the policy "
            f"'{outcome.policy}' names"
        )
    loaders = sorted(filter(is_loader_variable, launch.named))
    if loaders:
        yield (
            f"'{server.name}' is handed on {', '.join(loaders)} by its client: that loads code, so "
            f"it reaches the server only with a value in env.set of the policy '{outcome.policy}'"
        )
