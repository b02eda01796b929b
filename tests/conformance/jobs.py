"""Tools whose answer comes later: the extension `io.modelcontextprotocol/tasks` (2026-07-28).

The SDK has no part of it, so this is its surface as far as the scenarios look: a call answers with
a task, and the client asks after it, answers its questions or cancels it. A task is kept as long as
the server runs. Nothing is told on a subscription, which the extension leaves open.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding, ToolBinding
from mcp.server.mcpserver import require_client_extension
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    ElicitRequest,
    InputRequiredResult,
    RequestParams,
)
from pydantic import BaseModel, ConfigDict, Field

from conformance.rounds import NAME, elicit

TASKS: Final = "io.modelcontextprotocol/tasks"
Context = ServerRequestContext[Any, Any]

# How often a client should ask, and how long a task is kept, in milliseconds.
POLL: Final = 100
KEPT: Final = 600_000


class TaskParams(RequestParams):
    model_config = ConfigDict(extra="allow", populate_by_name=True)
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class Job:
    """One call that goes on after it was answered; `answers` came with the call."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.id = secrets.token_hex(8)
        self.answers = answers
        self.status = "working"
        self.outcome: dict[str, Any] = {}
        self.created = self.changed = _now()
        self._questions: dict[str, asyncio.Future[Any]] = {}
        self._asked: dict[str, Any] = {}
        self._work: asyncio.Task[None] | None = None

    def begin(self, call_next: CallNext, ctx: Context) -> None:
        """Carry the call out beside the conversation."""
        self._work = asyncio.get_running_loop().create_task(self._carry_out(call_next, ctx))

    def cancel(self) -> None:
        """Give it up; one that has ended stays as it is."""
        if self._work is not None:
            self._work.cancel()

    async def ask(self, requests: Mapping[str, ElicitRequest]) -> dict[str, Any]:
        """Wait until the client has answered each of these."""
        loop = asyncio.get_running_loop()
        self._questions = {key: loop.create_future() for key in requests}
        self._asked = {
            key: request.model_dump(mode="json", by_alias=True, exclude_none=True)
            for key, request in requests.items()
        }
        self._become("input_required")
        answers = {key: await question for key, question in self._questions.items()}
        self._become("working")
        return answers

    def answer(self, responses: Mapping[str, Any]) -> None:
        """Take what the client answers; a key nobody asked for is passed over."""
        for key, response in responses.items():
            if self._asked.pop(key, None) is not None:
                self._questions[key].set_result(response)

    def summary(self) -> dict[str, Any]:
        """What the answer to the call says of it."""
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created,
            "lastUpdatedAt": self.changed,
            "ttlMs": KEPT,
            "pollIntervalMs": POLL,
        }

    def details(self) -> dict[str, Any]:
        """All there is to say of it now."""
        questions = {"inputRequests": self._asked} if self.status == "input_required" else {}
        return self.summary() | questions | self.outcome

    async def _carry_out(self, call_next: CallNext, ctx: Context) -> None:
        CURRENT.set(self)
        try:
            result = await call_next(ctx)
        except asyncio.CancelledError:
            self._become("cancelled")
        except MCPError as error:
            self.outcome = {"error": {"code": error.error.code, "message": error.error.message}}
            self._become("failed")
        else:
            assert isinstance(result, BaseModel)
            dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            self.outcome = {"result": dumped}
            self._become("completed")

    def _become(self, status: str) -> None:
        self.status, self.changed = status, _now()


CURRENT: Final[ContextVar[Job]] = ContextVar("job")


def greet(name: str) -> str:
    """Answers at once, never as a task."""
    return f"Hello, {name}!"


async def slow_compute(seconds: float = 0, label: str = "") -> str:
    """Takes its time, as a task; who waits for the answer is not held up that long."""
    await asyncio.sleep(seconds if CURRENT.get(None) else min(seconds, POLL / 1000))
    return f"Computed {label}"


async def failing_job() -> str:
    """A tool that fails, as a task."""
    await asyncio.sleep(POLL / 1000)
    raise ToolError("The job failed.")


async def protocol_error_job() -> str:
    """A call that breaks, as a task."""
    raise MCPError(INTERNAL_ERROR, "The job broke.")


async def confirm_delete(filename: str) -> str:
    """Asks before it goes on."""
    question = elicit(f"Delete {filename}?", confirm="boolean")
    return f"Answered: {await CURRENT.get().ask({'confirm': question})}"


async def multi_input() -> str:
    """Asks two things at one time."""
    questions = {key: elicit(f"The {key}?", name="string") for key in ("first", "second")}
    return f"Answered: {await CURRENT.get().ask(questions)}"


async def ask_first() -> str:
    """Asks first, and goes on as a task."""
    return f"Hello, {CURRENT.get().answers}!"


ASKS_FIRST: Final = "test_tool_with_task"
AS_TASKS: Final = (slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input)
# Those that can also be answered in one go, for a client that knows no tasks.
OPTIONAL: Final = frozenset({"slow_compute"})


class Jobs(Extension):
    """The extension: its tools and methods, and the tasks there are."""

    identifier = TASKS

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def tools(self) -> Sequence[ToolBinding]:
        functions = {each.__name__: each for each in (greet, *AS_TASKS)} | {ASKS_FIRST: ask_first}
        return [
            ToolBinding(function, kwargs={"name": name, "structured_output": False})
            for name, function in functions.items()
        ]

    def methods(self) -> Sequence[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskParams, self._get),
            MethodBinding("tasks/update", UpdateParams, self._update),
            MethodBinding("tasks/cancel", TaskParams, self._cancel),
        ]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        asks_first = params.name == ASKS_FIRST
        if not asks_first and params.name not in {function.__name__ for function in AS_TASKS}:
            return await call_next(ctx)
        if params.name in OPTIONAL and not _knows_tasks(ctx):
            return await call_next(ctx)
        require_client_extension(ctx, TASKS)
        if asks_first and not params.input_responses:
            return InputRequiredResult(input_requests=dict(NAME))
        job = Job(params.input_responses or {})
        self._jobs[job.id] = job
        job.begin(call_next, ctx)
        return {"resultType": "task", **job.summary()}

    async def _get(self, ctx: Context, params: TaskParams) -> HandlerResult:
        return self._find(ctx, params).details()

    async def _update(self, ctx: Context, params: UpdateParams) -> HandlerResult:
        self._find(ctx, params).answer(params.input_responses)
        return {}

    async def _cancel(self, ctx: Context, params: TaskParams) -> HandlerResult:
        self._find(ctx, params).cancel()
        return {}

    def _find(self, ctx: Context, params: TaskParams) -> Job:
        require_client_extension(ctx, TASKS)
        job = self._jobs.get(params.task_id)
        if job is None:
            raise MCPError(INVALID_PARAMS, "no such task")
        return job


def _knows_tasks(ctx: Context) -> bool:
    offered = ctx.session.client_capabilities
    return offered is not None and TASKS in (offered.extensions or {})


def _now() -> str:
    return datetime.now(UTC).isoformat()
