"""A plan carried out: original kept, policies, record, then the client's file; in this order.

Killed anywhere in between, nothing is lost: the client's file is the old or the new one, and what
was made before it does no harm. A record of a change that did not come is not believed, as no
content has its digest.
"""

from __future__ import annotations

import os

from mcp_jail.clients.planning import FilePlan
from mcp_jail.clients.replacing import drop_kept, keep_first, replace_client_file
from mcp_jail.errors import JailError
from mcp_jail.store.files import create_private, make_private_folder
from mcp_jail.store.places import Places
from mcp_jail.store.wrapped import read_wrapped, write_wrapped


def apply_wrap(places: Places, plan: FilePlan) -> None:
    """Write what a plan of wrapping says; FileError where the file is not as it was read."""
    if not plan.changes or plan.record is None:
        return
    is_first = keep_first(places, plan.path, plan.before)
    known = read_wrapped(places, plan.record.path)
    try:
        make_private_folder(places.policies)
        for policy in plan.policies:
            create_private(places.policy(policy.name), policy.text.encode())
        write_wrapped(places, plan.record)
        replace_client_file(plan.path, plan.before, plan.after)
    except JailError:  # what was made for a change that did not come would be believed later
        write_wrapped(places, known)
        if is_first:
            drop_kept(places, plan.path, plan.before)
        raise


def apply_unwrap(places: Places, plan: FilePlan) -> None:
    """Write what a plan of unwrapping says; the policies stay."""
    if not plan.changes or plan.record is None:
        return
    replace_client_file(plan.path, plan.before, plan.after)
    write_wrapped(places, plan.record)
    drop_kept(places, os.path.realpath(plan.path), plan.after)
