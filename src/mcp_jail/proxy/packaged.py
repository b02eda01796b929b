"""The installed package of a policy, in place of the `npx` or `uvx` command that a client has.

Loads the room of packages only for a policy that pins one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.core.policy import Policy
from mcp_jail.core.spec import Access, Share
from mcp_jail.store.places import Places

if TYPE_CHECKING:
    from mcp_jail.packages.installed import Checking, Installed

# Why a jail shows its tree.
SHARED: Final = "package"


class Packaged(msgspec.Struct, frozen=True, kw_only=True):
    """A pinned package as it lies here, and the words of a client that it is started for.

    `installed` is None where the policy is only looked at and the package is not there.
    """

    package: Pinned
    policy: str  # its name
    words: tuple[str, ...]
    installed: Installed | None
    checking: Checking | None = None

    def settle(self) -> None:
        """Wait until its tree is known to be as it was installed; PackageError where it is not."""
        from mcp_jail.packages.installed import cured_by_install  # noqa: PLC0415

        if self.checking is not None:
            with cured_by_install(self.policy):
                self.checking.wait()

    def command(self) -> tuple[str, ...] | None:
        """What is started; LaunchMismatchError, PackageError."""
        from mcp_jail.packages.installed import command_in, cured_by_install  # noqa: PLC0415

        with cured_by_install(self.policy):
            return None if self.installed is None else command_in(self.installed, self.words)

    @property
    def shares(self) -> tuple[Share, ...]:
        """Its tree, read only."""
        if self.installed is None:
            return ()
        return (Share(path=self.installed.tree, access=Access.READ_ONLY, why=SHARED),)

    @property
    def identity(self) -> dict[str, Any]:
        """What is approved of it: which package, the digest of its tree, for which command."""
        digest = "" if self.installed is None else self.installed.record.digest
        return {"package": str(self.package), "digest": digest, "for": list(self.words)}

    def hold(self) -> int | None:
        """Keep it from being removed while it is used, as long as this descriptor is open."""
        from mcp_jail.packages.installed import cured_by_install, hold  # noqa: PLC0415

        with cured_by_install(self.policy):
            return None if self.installed is None else hold(self.installed)


def packaged(
    policy: Policy,
    places: Places,
    words: tuple[str, ...],
    *,
    is_looked_at: bool,
    is_settled_later: bool = False,
) -> Packaged | None:
    """The package of a policy, held to be as it was installed; None for a policy without one.

    PackageError for one that is missing or was changed; where a policy is only looked at, a missing
    one is none. With `is_settled_later` it is looked at in a process of its own, and the caller
    must `settle` it before anything of it is started.
    """
    package = pinned(policy.package)
    if package is None:
        return None
    from mcp_jail.packages.installed import (  # noqa: PLC0415
        Checking,
        check,
        cured_by_install,
        find,
        not_installed,
    )

    with cured_by_install(policy.name):
        found = find(places, package)
        if found is None and not is_looked_at:
            raise not_installed(package, policy.name)
        checking = Checking(found) if found is not None and is_settled_later else None
        if found is not None and checking is None:
            check(found)
    return Packaged(
        package=package, policy=policy.name, words=words, installed=found, checking=checking
    )
