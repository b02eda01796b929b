"""Which policy an entry goes by: its own name, unless another launch has that name already."""

from __future__ import annotations

import re

import msgspec

from mcp_jail.clients.known_launch import is_for
from mcp_jail.config import load
from mcp_jail.core.policy import Policy
from mcp_jail.errors import JailError, PolicyError, UsageError
from mcp_jail.store.places import MAX_NAME_CHARS, Places
from mcp_jail.store.policies import find_policy

# Names that are tried for one entry.
_TRIES = 100


class Wanted(msgspec.Struct, frozen=True):
    """A launch that needs a policy: its command, and variables that its policy has to set.

    `cwd` is where its client starts it, as far as that is known and matters.
    """

    command: tuple[str, ...]
    variables: dict[str, str]
    cwd: str = ""


class Chosen(msgspec.Struct, frozen=True):
    """A policy's name, and whether its file has to be written."""

    name: str
    is_new: bool
    is_unclaimed: bool = False  # it is there, and for no command yet


class Names:
    """The names that this command has given away so far, with the launch each is for."""

    def __init__(self, places: Places, home: str) -> None:
        self._places, self._home = places, home
        self._given: dict[str, Wanted] = {}
        # The texts of policies to be made: each file that needs one brings it, should another fail.
        self.texts: dict[str, str] = {}

    def choose(
        self, server: str, client: str, wanted: Wanted, *, is_strangers: bool = False
    ) -> Chosen:
        """The policy of an entry; the same for entries that start the same.

        One that is for no command yet is taken for the user's own entries, never for those of a
        project, whose author chose the name.
        """
        for name in _candidates(server, client):
            if name in self._given:
                if self._given[name] == wanted:
                    return Chosen(name, is_new=False)
                continue
            known = self._known(name)
            fits = True if known is None else self._fits(*known, wanted, is_strangers=is_strangers)
            if fits or (fits is None and not is_strangers):
                self._given[name] = wanted
                return Chosen(name, is_new=known is None, is_unclaimed=fits is None)
        raise JailError(f"no policy name is free for '{server}'")

    def text(self, name: str) -> str:
        """The text of a policy that was chosen, be it there or to be made."""
        return self.texts[name] if name in self.texts else find_policy(self._places, name).text

    def _fits(
        self, text: str, policy: Policy, wanted: Wanted, *, is_strangers: bool
    ) -> bool | None:
        """Whether a policy that is there is for this launch; None where nothing says so."""
        sets = policy.env.set.items()
        if policy.remote is not None or not wanted.variables.items() <= sets:
            return False
        return is_for(
            self._places,
            self._home,
            text,
            policy,
            wanted.command,
            cwd=wanted.cwd,
            is_strangers=is_strangers,
        )

    def _known(self, name: str) -> tuple[str, Policy] | None:
        try:
            file = find_policy(self._places, name)
        except UsageError:
            return None
        except JailError as error:
            raise JailError(f"its policy '{name}' cannot be used: {error.message}") from None
        try:
            return file.text, load(file.text, file.path).policy
        except PolicyError as error:
            raise JailError(
                f"its policy '{name}' is not valid: {error.message}", hint=f"mcp-jail show {name}"
            ) from None


def policy_name(server: str) -> str:
    """A server's name as a policy can have it."""
    small = re.sub(r"[^a-z0-9._-]+", "-", server.lower()).lstrip("._-").rstrip("-")
    return small[:MAX_NAME_CHARS] or "server"


def _candidates(server: str, client: str) -> list[str]:
    name = policy_name(server)
    beside = policy_name(f"{name[: MAX_NAME_CHARS - len(client) - 5]}-{client}")
    return [name, beside, *(f"{beside}-{number}" for number in range(2, _TRIES))]
