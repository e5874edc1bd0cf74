"""Where a session stands, in a word and a sentence for people, and in a word for what is recorded of it.

1. ``STATUSES`` is the whole mapping: one row for each way to a status, with the facts it requires. The first row whose
   facts all hold is the status. A comforting word needs proof: *cancelled* and *done* need that nothing is unresolved.
2. A status is computed from the state alone, anew each time, and never stored: what a frontend missed does no harm.
3. ``DurableStatus`` answers another question, and is another enum: how far what goes on is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import attrs

from agentcore.projections.calls import all_calls, asks_person, in_state, is_unresolved, named, unresolved
from agentcore.projections.facts import Fact, facts_of
from agentcore.states import (
    RUNNING,
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    CancellationRequested,
    Cancelled,
    Completed,
    Denied,
    EffectUnknown,
    Executing,
    Exhausted,
    Failed,
    Idle,
    Phase,
    Released,
    Saving,
    State,
    Stopping,
    Streaming,
)


class UiStatus(StrEnum):
    """What a frontend shows; it may be renamed or cut finer without touching anything stored."""

    IDLE = "idle"
    PREPARING = "preparing"
    THINKING = "thinking"
    ANSWERING = "answering"
    COMPACTING = "compacting"
    RECOVERING = "recovering"
    CHECKING = "checking"
    STARTING_TOOL = "starting_tool"
    RUNNING_TOOL = "running_tool"
    WAITING_FOR_PERSON = "waiting_for_person"
    WAITING_FOR_TASK = "waiting_for_task"
    REVIEWING = "reviewing"
    CANCELLING = "cancelling"
    STOPPING = "stopping"
    SAVING = "saving"
    UNRESOLVED = "unresolved"
    UNSAVED = "unsaved"
    DONE = "done"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    ERROR = "error"


STATUSES: tuple[tuple[UiStatus, tuple[Fact, ...]], ...] = (
    (UiStatus.PREPARING, (Fact.STEP_PREPARES,)),
    (UiStatus.THINKING, (Fact.MODEL_ASKED,)),
    (UiStatus.ANSWERING, (Fact.MODEL_ANSWERS,)),
    (UiStatus.RECOVERING, (Fact.RETRY_WAITS,)),
    (UiStatus.COMPACTING, (Fact.CONTEXT_SHRINKS,)),
    (UiStatus.WAITING_FOR_PERSON, (Fact.PERSON_ASKED,)),
    (UiStatus.CANCELLING, (Fact.CALLS_OPEN, Fact.CANCEL_UNCONFIRMED)),
    (UiStatus.RECOVERING, (Fact.CALLS_OPEN, Fact.EFFECT_UNKNOWN)),
    (UiStatus.RUNNING_TOOL, (Fact.CALLS_OPEN, Fact.TOOL_RUNS)),
    (UiStatus.STARTING_TOOL, (Fact.CALLS_OPEN, Fact.START_RECORDED)),
    (UiStatus.CHECKING, (Fact.CALLS_OPEN,)),
    (UiStatus.REVIEWING, (Fact.ANSWER_REVIEWED,)),
    (UiStatus.WAITING_FOR_TASK, (Fact.TASKS_AWAITED,)),
    (UiStatus.CANCELLING, (Fact.END_DECIDED, Fact.USER_ABORTED)),
    (UiStatus.STOPPING, (Fact.END_DECIDED,)),
    (UiStatus.SAVING, (Fact.END_BEING_SAVED,)),
    (UiStatus.ERROR, (Fact.FAILED,)),
    (UiStatus.STOPPED, (Fact.STOPPED_EARLY,)),
    (UiStatus.UNSAVED, (Fact.END_UNSAVED,)),
    (UiStatus.UNRESOLVED, (Fact.SOMETHING_UNRESOLVED,)),
    (UiStatus.DONE, (Fact.ANSWER_GIVEN, Fact.END_SAVED, Fact.NOTHING_UNRESOLVED)),
    (UiStatus.CANCELLED, (Fact.CANCELLED, Fact.END_SAVED, Fact.NOTHING_UNRESOLVED)),
    (UiStatus.IDLE, (Fact.NO_TURN, Fact.NOTHING_UNRESOLVED)),
)
"""Each status with the facts it requires, the most telling first; every state meets the facts of at least one row."""


@attrs.frozen
class Status:
    """Where a session stands, for people."""

    ui: UiStatus
    """In a word."""
    text: str
    """In one or more friendly sentences."""
    unresolved: tuple[str, ...] = ()
    """Ids of calls of which nobody knows yet whether their effect happened, or whether they have stopped."""


def ui_status(state: State) -> Status:
    """Return where the session stands: the first row of ``STATUSES`` whose facts all hold."""
    facts = facts_of(state)
    word = next(status for status, required in STATUSES if facts.issuperset(required))
    sentences = (_SENTENCES[word](state), _register_remark(state), _storage_remark(state))
    text = " ".join(sentence for sentence in sentences if sentence)
    return Status(word, text, tuple(call.call_id for call in unresolved(state)))


def status_holds(status: UiStatus, state: State) -> bool:
    """Say whether a state has the facts that a status requires, by one of its rows."""
    facts = facts_of(state)
    return any(facts.issuperset(required) for listed, required in STATUSES if listed is status)


class DurableStatus(StrEnum):
    """How far what goes on is recorded; words of the journal, not of a screen."""

    EFFECT_UNKNOWN = "effect-unknown"
    EFFECT_STARTED = "effect-started"
    MODEL_REQUESTED = "model-requested"
    RECORDED = "recorded"
    CHECKPOINTED = "checkpointed"


def durable_status(state: State) -> DurableStatus:
    """Return the gravest thing a crash would leave behind now.

    ``EFFECT_STARTED`` counts from the release of a call, since it may have started when the record is read again.
    ``CHECKPOINTED`` says that everything that has to be durable is.
    """
    calls = all_calls(state).values()
    if any(is_unresolved(call) and not isinstance(call.state, CancellationRequested) for call in calls):
        return DurableStatus.EFFECT_UNKNOWN
    if any(isinstance(call.state, RUNNING) for call in calls):
        return DurableStatus.EFFECT_STARTED
    phase = state.phase
    if isinstance(phase, AwaitingModel | Streaming) or (isinstance(phase, Stopping) and phase.request is not None):
        return DurableStatus.MODEL_REQUESTED
    saved = state.storage.durable >= state.storage.wanted
    return DurableStatus.CHECKPOINTED if saved else DurableStatus.RECORDED


def _waiting_for_person(state: State) -> str:
    permission = [call for call in in_state(state, AwaitingApproval) if asks_person(call)]
    inquiry = [call for call in in_state(state, EffectUnknown) if asks_person(call)]
    questions = []
    if permission:
        questions.append(f"You are asked whether {named(permission)} may run.")
    if inquiry:
        questions.append(f"You are asked whether {named(inquiry)} happened: look, and say what you found.")
    if inquiry and isinstance(state.phase, Stopping):
        questions.append("Abort once more to get the prompt back and leave it open.")
    return " ".join(questions)


def _recovering(state: State) -> str:
    if isinstance(state.phase, AwaitingRetry):
        return "The model could not answer; it is asked again in a moment."
    return f"Finding out whether {named(in_state(state, EffectUnknown))} happened."


def _winding_down(word: str) -> Callable[[State], str]:
    def sentence(state: State) -> str:
        calls = (*in_state(state, CancellationRequested), *in_state(state, EffectUnknown))
        what = named(calls) if calls else "the running work"
        return f"{word}; the end of {what} is not confirmed."

    return sentence


_ENDED: Mapping[type[Phase], str] = {
    Idle: "Ready",
    Completed: "Done",
    Cancelled: "Cancelled",
    Denied: "Stopped, because permission was refused",
    Exhausted: "Stopped at a limit",
    Failed: "Failed",
}


def _ended(state: State) -> str:
    """Name the end, with what is not settled about it."""
    open_calls = unresolved(state)
    word = _ENDED.get(type(state.phase), "Ended")
    if isinstance(state.phase, Completed) and Fact.STOPPED_EARLY in facts_of(state):
        word = "Stopped after the step, as asked"
    sentences = [f"{word}, {len(open_calls)} unresolved." if open_calls else f"{word}."]
    if Fact.END_UNSAVED in facts_of(state):
        sentences.append("This end is not saved: the turn continues from its last saved point when it is reopened.")
    if open_calls:
        sentences.append(f"Check {named(open_calls)} before anything is done again.")
    return " ".join(sentences)


_SENTENCES: Mapping[UiStatus, Callable[[State], str]] = {
    UiStatus.IDLE: _ended,
    UiStatus.PREPARING: lambda _: "Preparing the next step.",
    UiStatus.THINKING: lambda _: "The model was asked and has not answered yet.",
    UiStatus.ANSWERING: lambda _: "The model is answering.",
    UiStatus.COMPACTING: lambda _: "Making the conversation smaller, so that it fits.",
    UiStatus.RECOVERING: _recovering,
    UiStatus.CHECKING: lambda _: "Checking which of the calls may run.",
    UiStatus.STARTING_TOOL: lambda state: f"{named(in_state(state, Released))} starts as soon as that is recorded.",
    UiStatus.RUNNING_TOOL: lambda state: f"Running {named(in_state(state, Executing))}.",
    UiStatus.WAITING_FOR_PERSON: _waiting_for_person,
    UiStatus.WAITING_FOR_TASK: lambda _: "The answer is there; a background task has to end first.",
    UiStatus.REVIEWING: lambda _: "The answer is being reviewed.",
    UiStatus.CANCELLING: _winding_down("Cancelling"),
    UiStatus.STOPPING: _winding_down("Stopping"),
    UiStatus.SAVING: lambda _: "The turn is over; its end is being saved.",
    UiStatus.UNRESOLVED: _ended,
    UiStatus.UNSAVED: _ended,
    UiStatus.DONE: _ended,
    UiStatus.CANCELLED: _ended,
    UiStatus.STOPPED: _ended,
    UiStatus.ERROR: _ended,
}


def _register_remark(state: State) -> str:
    """Mention what lives beside the turn, unless the end has named it."""
    running = [call for call in state.register if isinstance(call.state, RUNNING) and not is_unresolved(call)]
    open_calls = [call for call in state.register if is_unresolved(call)] if state.open else []
    remarks = []
    if running:
        remarks.append(f"In the background: {named(running)}.")
    if open_calls:
        remarks.append(f"Unresolved: {named(open_calls)}.")
    return " ".join(remarks)


def _storage_remark(state: State) -> str:
    if not state.storage.failures:
        return ""
    done = " What was done is kept, but not saved yet." if isinstance(state.phase, Saving) else ""
    return f"The storage is unavailable; no effect is started until it is back.{done}"
