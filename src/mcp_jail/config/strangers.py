"""What a policy from elsewhere, of a repository say, may not ask for, however much it is trusted.

A command for a secret runs outside the jail, as the user, and so do we when we write an audit or a
lock file. Who trusts a file says yes to what its server may touch; a line that runs or writes
something outside is too easily overlooked there.
"""

from __future__ import annotations

from mcp_jail.config.loading import Loaded, load
from mcp_jail.config.problems import Problems, refusal


def load_strangers(text: str | bytes, file: str) -> Loaded:
    """Read a policy as `load` does; PolicyError also for what only one's own may say."""
    from mcp_jail.core.secret_sources import Kind, secret_source  # noqa: PLC0415  # few need it

    loaded = load(text, file)
    problems = Problems(file, text if isinstance(text, str) else text.decode())
    for name, source in loaded.policy.env.secret.items():
        if secret_source(source, name).kind is Kind.COMMAND:
            place = loaded.places[("env", "secret", name)]
            message = f"'{name}' would run a command outside the jail"
            problems.add(place, message, _INSTEAD)
    if loaded.policy.audit.path is not None:
        message = "only your own policies say where an audit is written"
        problems.add(loaded.places[("audit", "path")], message, "take the key out")
    lock_file = loaded.policy.lock.file
    if lock_file is not None and lock_file.startswith(("/", "~")):
        message = f"{lock_file!r} is not named from beside the policy file"
        hint = "write it relative, such as mcp-jail.lock.json: it must lie in the same directory"
        problems.add(loaded.places[("lock", "file")], message, hint)
    found = problems.in_order()
    if found:
        raise refusal(file, found)
    return loaded


_INSTEAD = (
    "only a policy in ~/.config/mcp-jail/policies or /etc/mcp-jail/policies may name one; "
    "copy this one there, or write keyring: or file:"
)
