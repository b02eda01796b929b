"""What a `subscriptions/listen` asks to be told of (2026-07-28), read strictly and built anew.

Whatever else stood there would reach the server unjudged: another spelling of the resources, a
task of another run. So a filter has known members of their kinds, or the request is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_jail.core.conversation.subjects import SUBSCRIPTIONS_LIMIT
from mcp_jail.core.rules.constraints import quoted

# The switch of a subscription that each notification needs.
SWITCHES: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}

# The members that name what it is for; tasks are an extension's.
RESOURCES: Final = "resourceSubscriptions"
TASKS: Final = "taskIds"
NAMING: Final = frozenset({RESOURCES, TASKS})


def filter_of(params: dict[str, Any], is_task: Callable[[str], bool]) -> dict[str, Any] | str:
    """The filter as it is passed on, or why it is none; `is_task` knows the tasks of this run."""
    wanted = params.get("notifications")
    if type(wanted) is not dict:
        return "needs 'notifications', an object"
    kept: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in NAMING:
            fault = _fault_of_names(name, value, is_task)
        elif name in SWITCHES.values():
            fault = None if type(value) is bool else f"needs '{name}' to be true or false"
        else:
            fault = f"with {quoted(name)} is not passed on"
        if fault is not None:
            return fault
        kept[name] = value
    return kept


def _fault_of_names(name: str, value: Any, is_task: Callable[[str], bool]) -> str | None:
    if type(value) is not list or len(value) > SUBSCRIPTIONS_LIMIT:
        return f"needs '{name}' to be a list of {SUBSCRIPTIONS_LIMIT} at most"
    if any(type(each) is not str for each in value):
        return f"needs '{name}' to be a list of strings"
    if name == TASKS and not all(map(is_task, value)):
        return "names a task that is none of this run"
    return None
