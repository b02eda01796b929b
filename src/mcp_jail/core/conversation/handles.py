"""The ids that ride in `_meta`: of a subscription, of a task, of progress.

Each means something that the other side has under way. A client that is told another's id of it may
take one thing for another, so each is put there by us, or checked, or taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.wire import as_id

PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105  (the protocol's word for an id)

# However they are written: some clients ignore case.
_IDS: Final = frozenset(
    name.casefold() for name in (mcp.SUBSCRIPTION_KEY, mcp.RELATED_TASK_KEY, PROGRESS_TOKEN)
)


def without_handles(meta: dict[str, Any]) -> dict[str, Any]:
    """Metadata without any id; the same object where there is none."""
    odd = [name for name in meta if name.casefold() in _IDS]
    return {name: value for name, value in meta.items() if name not in odd} if odd else meta


def related_task(params: dict[str, Any]) -> Any:
    """The id of the task that a message says it belongs to; None where it names none.

    What is of another shape is an id that no task has.
    """
    meta = params.get("_meta")
    if type(meta) is not dict or mcp.RELATED_TASK_KEY not in meta:
        return None
    task = meta[mcp.RELATED_TASK_KEY]
    id = task.get("taskId") if type(task) is dict else None
    return id if type(id) is str else ""


def of_question(params: dict[str, Any]) -> dict[str, Any]:
    """Of a question's `_meta`: the token of its progress, and the task it belongs to."""
    meta = params.get("_meta")
    if type(meta) is not dict:
        return {}
    kept: dict[str, Any] = {}
    token = as_id(meta.get(PROGRESS_TOKEN))
    if token is not None:
        kept[PROGRESS_TOKEN] = token
    task = related_task(params)
    if task is not None:
        kept[mcp.RELATED_TASK_KEY] = {"taskId": task}
    return {"_meta": kept} if kept else {}


def with_related_task(result: dict[str, Any], id: str) -> dict[str, Any]:
    """A result that says which task it is the outcome of (2025-11-25)."""
    meta = result.get("_meta")
    kept = meta if type(meta) is dict else {}
    return result | {"_meta": kept | {mcp.RELATED_TASK_KEY: {"taskId": id}}}


def of_subscription(id: Any) -> dict[str, Any]:
    """`_meta` with the client's own id of a subscription."""
    return {"_meta": {mcp.SUBSCRIPTION_KEY: id}}


def of_answer(answer: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """A client's answer that names the task of its question, if any; no other id goes back."""
    if "_meta" not in answer:
        return answer
    meta = answer["_meta"]
    kept = without_handles(meta) if type(meta) is dict else {}
    task = related_task(question)
    if task is not None:
        kept = kept | {mcp.RELATED_TASK_KEY: {"taskId": task}}
    return answer | {"_meta": kept}


def of_request(params: dict[str, Any], is_task: Callable[[str], bool]) -> dict[str, Any]:
    """A client's params that name its own progress, and a task that is one of this run."""
    meta = params.get("_meta")
    if type(meta) is not dict:
        return params
    kept = without_handles(meta)
    if kept is meta:
        return params
    if PROGRESS_TOKEN in meta:
        kept = kept | {PROGRESS_TOKEN: meta[PROGRESS_TOKEN]}
    task = related_task(params)
    if task is not None and is_task(task):
        kept = kept | {mcp.RELATED_TASK_KEY: {"taskId": task}}
    return params | {"_meta": kept}
