"""The one place where commands become work: each is executed in exactly one branch of one ``match``.

What takes time is started as a task and answers through the seam; what is only a word (a timer, an order to stop) is
done at once. The interpreters are given the command, and what the state held when it was ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any, assert_never

import attrs

from agentcore.codec import encode_rejection
from agentcore.commands import (
    ANSWERS,
    AskApproval,
    CancelModel,
    CancelTool,
    Command,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    Key,
    PersistCheckpoint,
    PrepareStep,
    RecordRejection,
    RequestModel,
    ReviewCompletion,
    StartTimer,
    key_of,
)
from agentcore.events import (
    CheckpointWritten,
    CompletionAccepted,
    CompletionRefused,
    Event,
    Inspector,
    StepPrepared,
    TimerFired,
)
from agentcore.messages import clean_text
from agentcore.states import Call, State
from interpreters.engine.desk import Desk
from interpreters.engine.hooks import Hooks
from interpreters.engine.mailbox import enclose
from interpreters.engine.reports import clean, clean_answer
from interpreters.engine.requests import Requests
from interpreters.engine.review import Reviewer
from interpreters.engine.seam import Answer, describe, failure, silence
from interpreters.engine.works import Work, Works
from interpreters.support.ports import STAMPED, Approver, Compactor, Gate, ToolBox
from interpreters.support.ports_model import Model
from interpreters.support.ports_store import StoreError
from interpreters.support.views import ToolProgress


@attrs.frozen(kw_only=True, eq=False)
class Interpreters:
    """Who performs what."""

    model: Model
    """Answers requests."""
    tools: ToolBox
    """Runs calls."""
    gate: Gate
    """Decides what may run."""
    approver: Approver | None = None
    """Is asked where the gate does not decide."""
    compactor: Compactor | None = None
    """Makes contexts smaller."""
    hooks: Hooks = attrs.field(factory=Hooks)
    """What the host wants to be asked."""
    attended: bool = False
    """Somebody watches the session: questions stay open for ``approve``, ``deny`` and ``resolve``."""


class Performer:
    """Performs the commands of one session."""

    def __init__(self, cast: Interpreters, desk: Desk, works: Works, shown: Callable[[RequestModel], None]) -> None:
        self._cast = cast
        self._desk = desk
        self._works = works
        self._reviewer = Reviewer(cast.gate, cast.hooks, desk.hooks)
        self._requests = Requests(cast.model, cast.hooks, desk, shown)

    async def perform(self, command: Command, state: State) -> None:
        """Begin what a command orders, or do it if it is only a word. Raises nothing."""
        match command:
            case PersistCheckpoint():
                self._start(command, state, partial(self._persist, command), stoppable=False)
            case PrepareStep():
                self._start(command, state, partial(self._prepare, command, state))
            case RequestModel():
                work = Work(command, when_stopped=ANSWERS[CancelModel])
                self._works.start(work, partial(self._requests.answer, work, command, state))
            case CancelModel():
                self._tell_to_stop("request-model", command.request_id, (command.epoch, command.attempt))
            case CompactContext():
                self._start(command, state, partial(self._compact, command, state))
            case ReviewCompletion():
                self._start(command, state, partial(self._review_completion, command, state))
            case EvaluatePolicy():
                call = find_call(state, command.call_id)
                self._start(command, state, partial(self._reviewer.review, self._desk.session_id, command, call))
            case AskApproval():
                self._ask_approval(command, find_call(state, command.call_id))
            case ExecuteTool():
                self._begin_execution(command, find_call(state, command.call_id))
            case CancelTool():
                self._cancel_tool(command)
            case InspectEffect():
                self._look(command, state, find_call(state, command.call_id))
            case StartTimer():
                self._start_timer(command)
            case RecordRejection():
                await self._record(command)
            case _:
                assert_never(command)

    def withdraw(self, waited_for: Container[Key]) -> None:
        """Stop what nobody waits for any more."""
        self._desk.mailbox.timers.keep_only(waited_for)
        self._works.stop_unless(waited_for)

    # Beginning

    def _start(self, command: Command, state: State, answer: Answer, *, stoppable: bool = True) -> None:
        """Begin work whose silence is a failure."""
        limit_ms = state.config.limits.answer_ms
        failed = failure(command, silence(limit_ms))
        assert failed is not None  # everything started here can fail
        self._desk.mailbox.timers.start(key_of(command), self._desk.clock.now() + limit_ms, failed)
        self._works.start(Work(command, stoppable), answer)

    def _begin_execution(self, command: ExecuteTool, call: Call) -> None:
        # Stopping what only reads touches nothing; anything else is stopped by its cancel alone.
        work = Work(command, call.contract.pure, ANSWERS[CancelTool])
        self._works.start(work, partial(self._execute, command, call))

    def _start_timer(self, command: StartTimer) -> None:
        extra_ms = self._desk.jitter(command.jitter_max_ms) if command.jitter_max_ms else 0
        fired = TimerFired(at=STAMPED, timer_id=command.timer_id, epoch=command.epoch, attempt=command.attempt)
        self._desk.mailbox.timers.start(key_of(command), command.due_at + extra_ms, fired)

    def _ask_approval(self, command: AskApproval, call: Call) -> None:
        self._ask_person(command, lambda who: who.ask(self._desk.session_id, command, call))

    def _look(self, command: InspectEffect, state: State, call: Call) -> None:
        if command.by is Inspector.PERSON:
            self._ask_person(command, lambda who: who.ask_effect(self._desk.session_id, command, call))
        else:
            self._start(command, state, partial(self._inspect, command, call))

    def _ask_person(self, command: AskApproval | InspectEffect, question: Callable[[Approver], Any]) -> None:
        """Ask whoever can be asked. Where somebody watches, the question simply stays open."""
        approver = self._cast.approver
        if approver is not None:
            self._works.start(Work(command), lambda: question(approver))
        elif not self._cast.attended:
            answer = failure(command, "nobody is there to be asked")
            assert answer is not None  # a question can always go unanswered
            self._desk.mailbox.put(enclose(answer))

    # Words

    def _tell_to_stop(self, name: str, about: str, attempt: tuple[int, int]) -> None:
        work = self._works.get(Key(name, about, *attempt))
        if work is not None:
            work.stop.set()

    def _cancel_tool(self, command: CancelTool) -> None:
        self._tell_to_stop("execute-tool", command.call_id, command.execution)
        try:
            self._cast.tools.cancel(self._desk.session_id, command)
        except Exception as error:  # noqa: BLE001 - a cancel has no failure event: its grace timer ends the waiting
            self._desk.trace.trouble("cancel failed", call=command.call_id, cause=describe(error))

    async def _record(self, command: RecordRejection) -> None:
        try:
            await self._desk.recorder.journal.reject(encode_rejection(command.rejection))
        except (StoreError, ValueError) as error:
            self._desk.trace.trouble("rejection not recorded", rejection=str(command.rejection), cause=describe(error))

    # Work

    async def _persist(self, command: PersistCheckpoint) -> Event:
        await self._desk.recorder.sync()
        return CheckpointWritten(at=STAMPED, seq=command.seq, epoch=command.epoch, attempt=command.attempt)

    async def _prepare(self, command: PrepareStep, state: State) -> Event:
        hook = self._cast.hooks.prepare_step
        settings = None
        if hook is not None:
            settings = await self._desk.hooks.call(
                "prepare-step",
                command.request_id,
                lambda: hook(state),
                lambda new: "nothing" if new is None else "model settings",
            )
        return StepPrepared(
            at=STAMPED,
            request_id=command.request_id,
            epoch=command.epoch,
            attempt=command.attempt,
            settings=settings,
        )

    async def _compact(self, command: CompactContext, state: State) -> Event | None:
        if self._cast.compactor is None:
            return failure(command, "this host has nothing that makes a context smaller")
        return await self._cast.compactor.compact(command, state)

    async def _review_completion(self, command: ReviewCompletion, state: State) -> Event:
        hook = self._cast.hooks.review_completion
        request_id, epoch, attempt = command.request_id, command.epoch, command.attempt
        missing = ""
        if hook is not None:
            missing = await self._desk.hooks.call(
                "review-completion",
                request_id,
                lambda: hook(state),
                lambda text: "refused the completion" if text else "nothing",
            )
        if missing:
            return CompletionRefused(
                at=STAMPED, request_id=request_id, epoch=epoch, attempt=attempt, feedback=clean_text(missing)
            )
        return CompletionAccepted(at=STAMPED, request_id=request_id, epoch=epoch, attempt=attempt)

    async def _inspect(self, command: InspectEffect, call: Call) -> Event:
        found = await self._cast.tools.inspect(self._desk.session_id, command, call)
        return clean_answer(self._cast.hooks.after_tool, self._desk.hooks, call, found)

    async def _execute(self, command: ExecuteTool, call: Call) -> Event:
        hook = self._cast.hooks.after_tool

        def emit(event: Event) -> None:
            self._desk.mailbox.put(enclose(clean_answer(hook, self._desk.hooks, call, event)))

        def show(text: str) -> None:
            words = text if hook is None else clean(hook, self._desk.hooks, call, text)
            self._desk.broadcast.show(ToolProgress(call.call_id, words))

        end = await self._cast.tools.execute(self._desk.session_id, command, call, emit=emit, show=show)
        return clean_answer(hook, self._desk.hooks, call, end)


def find_call(state: State, call_id: str) -> Call:
    """Return the call that a command is about: what the register holds is newer than what the batch remembers."""
    batch = state.batch
    return next(call for call in (*state.register, *(batch.calls if batch else ())) if call.call_id == call_id)
