"""Where the lock file lies that a policy proposes to others, and why it lies nowhere else.

`mcp-jail approve --write-file` writes it outside of any jail. A policy from elsewhere names one in
its own directory, by no link; any other names it where a server could write, too. So nobody has us
write over the lock of another policy, over settings or over what a login runs.
"""

from __future__ import annotations

import os

from mcp_jail.config.problems import Problems, refusal
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.proxy.prepare import Judged, audit_path, ours_of
from mcp_jail.sandbox.build import own_code
from mcp_jail.sandbox.never_written import why_never_written
from mcp_jail.sandbox.protected import Ours
from mcp_jail.sandbox.search_path import this_account
from mcp_jail.store.policies import PolicyKind


def proposal_path(judged: Judged) -> str | None:
    """The place of `lock.file`, links followed; one may be named from beside the policy file.

    PolicyError where it may not be; to be asked again before it is written.
    """
    text = judged.policy.lock.file
    if text is None:
        return None
    beside = os.path.dirname(judged.file.path)
    named = os.path.normpath(expand_home(text, judged.home) or os.path.join(beside, text))
    folder = os.path.realpath(os.path.dirname(named))
    place = os.path.join(folder, os.path.basename(named))
    fault = _fault(judged, named, place)
    if fault is None:
        return place
    problems = Problems(judged.source, judged.file.text)
    message = f"'{text}' cannot be the lock file: {fault}"
    judged.problem(problems, ("lock", "file"), message, _INSTEAD)
    raise refusal(judged.source, problems.in_order())


_INSTEAD = "name a file of its own in the repository that it is for"


def _fault(judged: Judged, named: str, place: str) -> str | None:
    if os.path.islink(place):
        return f"'{place}' is a symbolic link"
    if judged.file.kind is PolicyKind.TRUSTED and place != named:
        return f"it goes through a symbolic link, to '{place}'"
    account = this_account()
    homes = [judged.home, *([] if account is None else [account.home])]
    return why_never_written(place, _ours(judged), homes)


def _ours(judged: Judged) -> tuple[Ours, ...]:
    """What is ours, root's policies and our own code too."""
    places = judged.on_disk
    return (
        *ours_of(judged, audit_path(judged)),
        Ours(path=places.system_policies, what="root's policies"),
        *own_code(None),
    )
