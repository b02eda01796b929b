"""Which policy an entry goes by: its own name, unless another launch has that name already."""

from __future__ import annotations

import re

import msgspec

from mcp_jail.config import load
from mcp_jail.core.policy import Policy
from mcp_jail.errors import JailError, PolicyError, UsageError
from mcp_jail.store.places import MAX_NAME_CHARS, Places
from mcp_jail.store.policies import find_policy

# Names that are tried for one entry.
_TRIES = 100


class Wanted(msgspec.Struct, frozen=True):
    """A launch that needs a policy: its command, and variables that its policy has to set."""

    command: tuple[str, ...]
    variables: dict[str, str]


class Chosen(msgspec.Struct, frozen=True):
    """A policy's name, and whether its file has to be written."""

    name: str
    is_new: bool


class Names:
    """The names that this command has given away so far, with the launch each is for."""

    def __init__(self, places: Places, home: str) -> None:
        self._places, self._home = places, home
        self._given: dict[str, Wanted] = {}
        # The texts of policies to be made: each file that needs one brings it, should another fail.
        self.texts: dict[str, str] = {}

    def choose(self, server: str, client: str, wanted: Wanted) -> Chosen:
        """The policy of an entry; the same for entries that start the same."""
        for name in _candidates(server, client):
            if name in self._given:
                if self._given[name] == wanted:
                    return Chosen(name, is_new=False)
                continue
            known = self._known(name)
            if known is None or _fits(known, wanted, self._home):
                self._given[name] = wanted
                return Chosen(name, is_new=known is None)
        raise JailError(f"no policy name is free for '{server}'")

    def _known(self, name: str) -> Policy | None:
        try:
            file = find_policy(self._places, name)
        except UsageError:
            return None
        except JailError as error:
            raise JailError(f"its policy '{name}' cannot be used: {error.message}") from None
        try:
            return load(file.text, file.path).policy
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


def _fits(policy: Policy, wanted: Wanted, home: str) -> bool:
    if policy.remote is not None or not wanted.variables.items() <= policy.env.set.items():
        return False
    named = () if policy.server is None else policy.server.command
    return not named or _spelled_out(named, home) == _spelled_out(wanted.command, home)


def _spelled_out(command: tuple[str, ...], home: str) -> tuple[str, ...]:
    return tuple(
        home + word[1:] if word == "~" or word.startswith("~/") else word for word in command
    )
