"""What becomes of a server's notifications: each is text for a person, a model or a host.

Passed on are those that belong to something the client has under way (a request, a subscription, a
task, a page it was sent to), cut to the members the protocol names. The rest is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.conversation import tasks
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.events import Effect, ToClient
from mcp_jail.core.conversation.handles import of_subscription
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.interim import Interim
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.subscribed import NAMING, RESOURCES, SWITCHES, TASKS
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.policy import Text
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import Notification
from mcp_jail.core.text import hidden

# The members of each notification that are passed on.
_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "notifications/message": ("level", "logger", "data"),
    "notifications/progress": ("progressToken", "progress", "total", "message"),
    "notifications/resources/updated": ("uri",),
    "notifications/subscriptions/acknowledged": ("notifications",),
    "notifications/cancelled": ("requestId", "reason"),
    "notifications/elicitation/complete": ("elicitationId",),
    **dict.fromkeys(mcp.LIST_CHANGED, ()),
}

_LEVELS: Final = frozenset(
    {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

# What says how a task goes.
_NEWS_OF_TASK: Final = {
    Era.LEGACY: "notifications/tasks/status",
    Era.MODERN: "notifications/tasks",
}


class Notices:
    """Holds the notifications of one run's server against what it may notify of."""

    def __init__(self, state: State, interim: Interim, asking: Asking) -> None:
        self._state = state
        self._asking = asking
        self._interim = interim
        self._handlers: dict[str, Callable[[Notification], list[Effect]]] = {
            "notifications/progress": self._progress,
            "notifications/message": self._log,
            "notifications/cancelled": self._cancelled,
            "notifications/tasks/status": self._of_task,
            "notifications/tasks": self._of_task,
            "notifications/elicitation/complete": self._page_done,
            "notifications/resources/updated": self._subscribed,
            "notifications/subscriptions/acknowledged": self._subscribed,
            **dict.fromkeys(mcp.LIST_CHANGED, self._list_changed),
        }

    def handle(self, message: Notification) -> list[Effect]:
        """What to do about a notification."""
        handle = self._handlers.get(message.method)
        if handle is None:
            return self._dropped(f"notification {quoted(message.method)}")
        effects = handle(message)
        limit = self._state.opening.line_limit(Era.LEGACY, {})
        if any(isinstance(effect, ToClient) and len(effect.line) > limit for effect in effects):
            return self._dropped("a notification that is too large for the client")
        return effects

    def told_of(self, kinds: Iterable[ItemKind]) -> list[Effect]:
        """Tell a client, in its era, that listings have changed: a person has approved."""
        effects: list[Effect] = []
        for method, listing in mcp.LIST_CHANGED.items():
            kind = KIND_OF_LIST[listing]
            templates = kind is ItemKind.RESOURCE and ItemKind.TEMPLATE in kinds
            if kind not in kinds and not templates:
                continue
            if self._state.opening.is_legacy:
                effects.append(ToClient(wire.render(Notification(method, {}))))
            effects += [
                ToClient(wire.render(Notification(method, of_subscription(waiting.client_id))))
                for waiting in self._state.in_flight
                if waiting.treatment is Treatment.LISTEN and _filter(waiting).get(SWITCHES[method])
            ]
        return effects

    def _progress(self, message: Notification) -> list[Effect]:
        token = wire.as_id(message.params.get("progressToken"))
        waiting = None if token is None else self._state.in_flight.of_token(token)
        if waiting is None:
            return self._dropped("progress on a request that asked for none")
        if not waiting.tool:  # nothing was called that could have something to say
            params = {name: said for name, said in message.params.items() if name != "message"}
            message = Notification(message.method, params)
        return [self._passed(message)]

    def _log(self, message: Notification) -> list[Effect]:
        level = message.params.get("level")
        if type(level) is not str or level not in _LEVELS:
            return self._dropped("a log message of no level")
        if not self.passes_logs():
            return self._dropped("a log message that no request asked for")
        return [self._passed(message)]

    def passes_logs(self) -> bool:
        """Whether log messages pass now; in 2026-07-28 only while a request asked for them."""
        if self._state.opening.is_legacy:
            return True
        metas = (waiting.params.get("_meta") for waiting in self._state.in_flight)
        return any(type(meta) is dict and mcp.LOG_LEVEL_KEY in meta for meta in metas)

    def _page_done(self, message: Notification) -> list[Effect]:
        """A person is done with a web page that the client was asked to open."""
        id = message.params.get("elicitationId")
        if type(id) is not str or id not in self._state.pages:
            return self._dropped("the end of an elicitation that was not passed on")
        return [self._passed(message)]

    def _list_changed(self, message: Notification) -> list[Effect]:
        """A listing changed: what is called next is listed anew first."""
        kind = KIND_OF_LIST[mcp.LIST_CHANGED[message.method]]
        self._state.catalogue.forget(kind)
        if kind is ItemKind.RESOURCE:
            self._state.catalogue.forget(ItemKind.TEMPLATE)
        if self._state.opening.is_legacy:
            return [self._passed(message)]
        waiting = self._subscription(message)
        if waiting is None or _filter(waiting).get(SWITCHES[message.method]) is not True:
            return self._dropped("a notification for a subscription never made")
        return [self._passed(message, of_subscription(waiting.client_id))]

    def _subscribed(self, message: Notification) -> list[Effect]:
        """News of a resource, or the beginning of a subscription."""
        uri = message.params.get("uri")
        if self._state.opening.is_legacy:
            is_news = message.method == "notifications/resources/updated" and type(uri) is str
            if is_news and uri in self._state.subscribed:
                return [self._passed(message)]
            return self._dropped("news of a resource that was not subscribed to")
        waiting = self._subscription(message)
        if waiting is None:
            return self._dropped("a notification for a subscription never made")
        wanted = _filter(waiting)
        if message.method == "notifications/subscriptions/acknowledged":
            if not _is_part(message.params.get("notifications"), wanted):
                return self._dropped("a subscription to more than was asked for")
        elif type(uri) is not str or uri not in _named(wanted, RESOURCES):
            return self._dropped("news of a resource that was not subscribed to")
        return [self._passed(message, of_subscription(waiting.client_id))]

    def _subscription(self, message: Notification) -> Waiting | None:
        """The open subscription that a notification names."""
        meta = message.params.get("_meta")
        id = meta.get(mcp.SUBSCRIPTION_KEY) if type(meta) is dict else None
        waiting = self._state.in_flight.get(wire.as_id(id))
        is_listening = waiting is not None and waiting.treatment is Treatment.LISTEN
        return waiting if is_listening else None

    def _cancelled(self, message: Notification) -> list[Effect]:
        """A server may give up a question of its own, or a subscription (2026-07-28)."""
        id = wire.as_id(message.params.get("requestId"))
        asked = self._state.asked.of_server_id(id)
        if asked is not None:
            self._state.asked.take(asked.id)
            return [self._passed(message, {"requestId": asked.id})]
        held = self._asking.drop(id, from_client=False)
        if held is not None:
            return held
        waiting = self._state.in_flight.get(id)
        if waiting is None or waiting.treatment is not Treatment.LISTEN:
            return []  # it means a question that was answered meanwhile
        self._state.in_flight.end(waiting)
        return [self._rendered(message.method, {"requestId": waiting.client_id})]  # not its words

    def _of_task(self, message: Notification) -> list[Effect]:
        """News of a task of this run, which may hold its outcome (2026-07-28)."""
        task = self._state.tasks.get(message.params.get("taskId"))
        if task is None:
            return self._dropped("news of a task that is none of this run")
        if message.method != _NEWS_OF_TASK[task.era]:
            return self._dropped("news of a task in the words of the other era")
        if task.era is Era.LEGACY:
            return [self._rendered(message.method, tasks.status_of(message.params))]
        waiting = self._subscription(message)
        if waiting is None or task.id not in _named(_filter(waiting), TASKS):
            return self._dropped("a notification for a subscription never made")
        told, effects = self._interim.task_told(task, message.params, waiting)
        params = self._interim.outcome_told(told) | of_subscription(waiting.client_id)
        return [*effects, self._rendered(message.method, params)]

    def _passed(self, message: Notification, more: dict[str, Any] | None = None) -> ToClient:
        """A notification cut to what is known of it, with members of ours."""
        kept = {
            name: message.params[name]
            for name in _MEMBERS[message.method]
            if name in message.params
        }
        return self._rendered(message.method, kept | (more or {}))

    def _rendered(self, method: str, params: dict[str, Any]) -> ToClient:
        if self._state.book.policy.text is not Text.OFF:
            params = hidden.cleaned(params, self._state.book.policy.text)[0]
        return ToClient(wire.render(Notification(method, params)))

    def _dropped(self, reason: str) -> list[Effect]:
        return self._state.tally.violation("server", reason)


def _filter(waiting: Waiting) -> dict[str, Any]:
    """What a subscription asked for."""
    wanted = waiting.params.get("notifications")
    return wanted if type(wanted) is dict else {}


def _named(wanted: dict[str, Any], member: str) -> list[Any]:
    """The resources or tasks that a subscription asked for."""
    named = wanted.get(member)
    return named if type(named) is list else []


def _is_part(given: Any, wanted: dict[str, Any]) -> bool:
    """Whether a server subscribes to no more than it was asked for, in no words of its own."""
    return type(given) is dict and all(
        _may_be_honoured(name, value, wanted) for name, value in given.items()
    )


def _may_be_honoured(name: str, value: Any, wanted: dict[str, Any]) -> bool:
    if name in NAMING:
        asked = _named(wanted, name)
        return type(value) is list and all(type(each) is str and each in asked for each in value)
    if name not in SWITCHES.values():
        return False
    return value is False or (value is True and wanted.get(name) is True)
