"""`mcp-jail run NAME [-- COMMAND...]`: what a client starts instead of the server.

stdout is the wire: descriptor 1 is moved away before anything else, so that no stray print can
reach it. Loads no argparse and nothing else a start would wait for; and first of all next to
nothing, as the keeper is forked from that.
"""

from __future__ import annotations

import gc
import os
import sys

from mcp_jail.cli import streams
from mcp_jail.core.loaders import is_loader_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from mcp_jail.errors import UsageError

HELP = """\
usage: mcp-jail run NAME [-- COMMAND...]
       mcp-jail run --policy FILE [-- COMMAND...]

Start an MCP server in a jail and speak MCP on stdin and stdout, as the server
would.

  NAME           the policy ~/.config/mcp-jail/policies/NAME.yaml
  --policy FILE  a policy file elsewhere; `mcp-jail trust FILE` first
  COMMAND...     the server; may be left out when the policy names it

Exit codes: 0 the client closed, 1 the server ended, 2 usage or policy, 3
another server than the policy names, 4 the jail cannot be built, 5 the audit
cannot be written, 6 the package is not installed, or not as it was installed.

Example, as an entry of a client's configuration:
  "command": "mcp-jail",
  "args": ["run", "filesystem", "--", "mcp-server-filesystem", "/home/me/projects"]
"""

IN_A_TERMINAL = (
    "mcp-jail: this waits for an MCP client; let yours start it (mcp-jail run --help has an "
    "entry), end it with Ctrl-D\n"
)


# The variables that our processes read once a server has been prepared by all of them.
OURS = frozenset(
    {
        "DBUS_SESSION_BUS_ADDRESS",
        "HOME",
        "LANG",
        "LOGNAME",
        "MCP_JAIL_HOME",
        "PATH",
        "SHELL",
        "TERM",
        "USER",
    }
)


def main(arguments: list[str]) -> int:
    """Run one server; returns when client or server have closed."""
    if arguments[:1] in (["-h"], ["--help"]):
        streams.speak_plainly()
        sys.stdout.write(HELP)
        return 0
    name, policy_file, command = parse(arguments)
    _restart_without_loader_variables()
    given = keep_ours(os.environ)
    if os.isatty(0):
        sys.stderr.write(IN_A_TERMINAL)
    client = _take_the_wire()
    from mcp_jail.sandbox.keeping import begin

    gc.disable()  # nearly nothing becomes garbage until the guard's loop begins, which enables it
    kept = begin()
    from mcp_jail.proxy.gating import open_gate
    from mcp_jail.proxy.prepare import prepare
    from mcp_jail.sandbox.keeper import Keeper
    from mcp_jail.sandbox.launch import launch

    keeper = Keeper(*kept)
    try:
        prepared = prepare(
            name=name,
            policy_file=policy_file,
            command=command,
            environ=given,
            is_settled_later=True,
        )
        if prepared.plan.secrets:
            from mcp_jail.proxy.secrets import with_secrets

            prepared = with_secrets(prepared, keeper)
        gate = open_gate(prepared)
    except BaseException:
        keeper.close()
        raise
    # The jail builds itself while we load the rest, and waits for `go`.
    jail = launch(prepared.plan, keeper=keeper, secrets=prepared.secrets)
    from mcp_jail.proxy.guard import guard
    from mcp_jail.proxy.stderr import ErrorStream

    errors = ErrorStream(prepared.judged.state_name)
    for lint in prepared.lints:
        errors.tell(f"warning: {lint}")
    return guard(prepared, jail, gate, client=client, errors=errors)


def parse(arguments: list[str]) -> tuple[str | None, str | None, tuple[str, ...]]:
    """NAME, FILE (one of them) and the command of a `run` line; UsageError."""
    own, command = arguments, []
    if "--" in arguments:
        cut = arguments.index("--")
        own, command = arguments[:cut], arguments[cut + 1 :]
        if not command:
            raise _misused("no command after '--'", "see mcp-jail run --help")
    match own:
        case ["--policy", file]:
            return None, file, tuple(command)
        case [word] if word.startswith("--policy="):
            return None, word.removeprefix("--policy="), tuple(command)
        case [name] if not name.startswith("-"):
            return name, None, tuple(command)
        case ["--policy", file, word, *_]:
            raise _misused(
                f"unexpected '{word}' after --policy FILE",
                "--policy FILE stands in place of a NAME; before the server's command comes "
                f"--: mcp-jail run --policy {file} -- {word} ...",
            )
        case [name, word, *_] if not name.startswith("-"):
            raise _misused(
                f"unexpected '{word}' after the policy's name",
                f"put -- before the server's command: mcp-jail run {name} -- {word} ...",
            )
    raise _misused("run needs a policy's NAME or --policy FILE", "see mcp-jail run --help")


def _misused(message: str, hint: str) -> UsageError:
    from mcp_jail.errors import UsageError

    return UsageError(message, hint=hint)


def keep_ours(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Leave in an environment what this process reads itself; all that it was.

    A client's entry says what stands in it, and what we load later may read any name: OpenSSL loads
    a library that OPENSSL_CONF names, and no list of such names is whole.
    """
    given = dict(environ)
    for name in given.keys() - OURS:
        del environ[name]
    return given


def loader_variables(environ: Mapping[str, str]) -> list[str]:
    """The variables of an environment that would run code in this process, outside the jail."""
    return sorted(name for name in environ if is_loader_variable(name))


def _restart_without_loader_variables() -> None:
    """Start again, isolated, when the client's entry sets variables that load code.

    Ends after one round: the second process has none of them.
    """
    found = loader_variables(os.environ)
    if not found:
        return
    sys.stderr.write(
        f"mcp-jail: warning: {', '.join(found)} would run code outside the jail, so mcp-jail "
        "starts again without; if the server needs it, set it in the policy under env.set\n"
    )
    sys.stderr.flush()
    kept = {name: value for name, value in os.environ.items() if name not in found}
    os.execve(sys.executable, [sys.executable, "-I", *sys.argv], kept)  # noqa: S606 - ourselves


def _take_the_wire() -> tuple[int, int]:
    """Descriptors of the client; 0 and 1 become harmless for anything that reads or prints."""
    client_in, client_out = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return client_in, client_out
