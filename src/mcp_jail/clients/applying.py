"""A plan carried out: policies, original kept, record, then the client's file; in this order.

Killed anywhere in between, nothing is lost: the client's file is the old or the new one, and what
was made before it does no harm. A record of a change that did not come is not believed, as no
content has its digest. Commands that run at the same time go one after the other, and the later
one is told that the file is not as it was read.
"""

from __future__ import annotations

import os

import msgspec

from mcp_jail.clients.plans import FilePlan, NewPolicy
from mcp_jail.clients.replacing import (
    changed_meanwhile,
    drop_kept,
    keep_first,
    read_client_file,
    replace_client_file,
    sweep_drafts,
    why_not_replaceable,
)
from mcp_jail.errors import JailError
from mcp_jail.store.files import FileError, create_private, make_private_folder, read_private
from mcp_jail.store.places import Places
from mcp_jail.store.state_key import keep_key
from mcp_jail.store.wrapped import WrappedFile, alone, read_wrapped, write_wrapped


def apply_wrap(places: Places, plan: FilePlan) -> None:
    """Write what a plan of wrapping says; FileError where the file is not as it was read."""
    if not plan.changes or plan.record is None or plan.known is None:
        return
    with alone(places):
        _refuse_changed(places, plan, plan.known)
        _make_policies(places, plan.policies)
        original, is_new = plan.known.original, False
        if original is None:
            original, is_new = keep_first(places, plan.path, plan.before)
        try:
            write_wrapped(places, msgspec.structs.replace(plan.record, original=original))
            replace_client_file(plan.path, plan.before, plan.after)
        except JailError:  # what was made for a change that did not come would be believed later
            write_wrapped(places, plan.known)
            if is_new:
                drop_kept(original)
            raise


def apply_notes(places: Places, plan: FilePlan, key: bytes, *, is_all: bool) -> None:
    """Keep which entries of a file stay as they are, where nothing in it changes.

    Only of a file that is looked at later: where all are to be wrapped, or this one is.
    """
    if plan.changes or plan.record is None or plan.known is None or plan.record == plan.known:
        return
    if not is_all and not plan.known.is_wrapped:
        return
    keep_key(places, key)
    with alone(places):
        if read_wrapped(places, plan.known.path) == plan.known:  # else another command was faster
            write_wrapped(places, plan.record)


def apply_unwrap(places: Places, plan: FilePlan) -> None:
    """Write what a plan of unwrapping says; the policies stay."""
    if not plan.changes or plan.record is None or plan.known is None:
        return
    with alone(places):
        if plan.is_gone:
            _forget(places, plan, plan.known)
            return
        _refuse_changed(places, plan, plan.known)
        write_wrapped(places, plan.known)  # so that it is known that it can be, before the change
        replace_client_file(plan.path, plan.before, plan.after)
        write_wrapped(places, plan.record)
        if plan.dropped is not None:
            drop_kept(plan.dropped)


def _forget(places: Places, plan: FilePlan, known: WrappedFile) -> None:
    """Let go of a file that is not there any more; FileError where it is again."""
    if os.path.lexists(plan.path) or read_wrapped(places, known.path) != known:
        raise changed_meanwhile(plan.path)
    if plan.dropped is not None:
        drop_kept(plan.dropped)
    write_wrapped(places, WrappedFile(known.path))


def _refuse_changed(places: Places, plan: FilePlan, known: WrappedFile) -> None:
    """FileError where the file or what is known of it is not what the plan was made from."""
    why = why_not_replaceable(plan.path)
    if why:
        raise FileError(f"'{plan.path}' is not written: {why}")
    if read_client_file(plan.path) != plan.before or read_wrapped(places, known.path) != known:
        raise changed_meanwhile(plan.path)
    sweep_drafts(plan.path)


def _make_policies(places: Places, policies: tuple[NewPolicy, ...]) -> None:
    """Make the policies; FileError where another launch has taken a name since it was chosen."""
    make_private_folder(places.policies)
    for policy in policies:
        path, content = places.policy(policy.name), policy.text.encode()
        if not create_private(path, content) and read_private(path) != content:
            raise FileError(
                f"the policy '{policy.name}' was made meanwhile, for another launch perhaps",
                hint="try again: the entry then gets another name, or shares it",
            )
