"""Laws about effects: what may be executed, how often, and what is known of it (L5, L6, L7, L10, L12, L22)."""

from __future__ import annotations

from collections.abc import Iterator

from agentcore.commands import InspectEffect, StartTimer
from agentcore.events import (
    ApprovalGranted,
    CheckpointWritten,
    Event,
    HostEvent,
    InspectionRequested,
    ModelReplied,
    PolicyAllowed,
    PolicyAsked,
    RetryRequested,
    SessionResumed,
)
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    DeniedCall,
    FinishReason,
    InvalidCall,
    NotExecuted,
    NotExecutedReason,
    Outcome,
    ToolMessage,
    digest,
    is_open,
    parse_arguments,
)
from agentcore.states import (
    AwaitingApproval,
    Call,
    CancellationRequested,
    EffectUnknown,
    Executing,
    Proposed,
    Ready,
    Released,
    Settled,
    State,
)
from agentcore.testing.core import Core
from agentcore.testing.laws.base import Law, transition_law, words
from agentcore.testing.passage import Passage, all_calls, find_call


def unknown_always_has_an_inspect_action(passage: Passage) -> str | None:
    """Unknown always has an inspect action: for every ``EffectUnknown`` an ``InspectEffect`` is outstanding, or a timer
    that brings it; for it, and for every entry of the register whose effect is open, ``InspectionRequested`` is
    accepted
    and the pending acts list it.

    Accepted means not refused: it may be ignored only while that very inspection is outstanding already. Where absence
    is proved and the call only waits for its batch or for a retry, an inspection has answered; there the retry or the
    inspection is what is accepted and listed.
    """
    before, after = passage.before, passage.after
    if before is after or (before.batch is after.batch and before.register is after.register and _same_quiet(passage)):
        return None
    return missing_inspection(after, passage.core, listed=False)


def _same_quiet(passage: Passage) -> bool:
    return type(passage.before.phase) is type(passage.after.phase)


def missing_inspection(state: State, core: Core, *, listed: bool = True) -> str | None:
    """Say for which open effect of a state there is no way to find out, or ``None``: the whole of L5 for one state.

    With ``listed=False`` the pending acts are left out, which take longest to ask for.
    """
    for call in all_calls(state):
        if needs_inspection(call) and (problem := _uninspected(state, call, core, listed=listed)):
            return f"call {call.call_id} ({type(call.state).__name__}): {problem}"
    return None


def needs_inspection(call: Call) -> bool:
    """Say whether an effect is open: unknown, or in the register without an answer that closes it."""
    if isinstance(call.state, EffectUnknown):
        return True
    return call.registered and not (isinstance(call.state, Settled) and not is_open(call.state.outcome))


def _uninspected(state: State, call: Call, core: Core, *, listed: bool) -> str | None:
    looking = [command for command in core.outstanding(state) if _brings_inspection(command, call.call_id)]
    unknown = call.state if isinstance(call.state, EffectUnknown) else None
    proved = unknown is not None and unknown.proved_absent is not None
    if unknown is not None and not proved and not looking:
        return "no inspection is outstanding and no timer brings one"
    acts: tuple[HostEvent, ...] = (InspectionRequested(at=state.at, call_id=call.call_id),)
    if proved:
        acts = (*acts, RetryRequested(at=state.at, call_id=call.call_id))
    busy = any(isinstance(command, InspectEffect) for command in looking)
    taken = [act for act in acts if _is_taken(state, act, core, busy=busy)]
    if not taken:
        return f"{' and '.join(type(act).__name__ for act in acts)} is refused"
    if listed and not any(core.lists(state, act) for act in taken):
        return f"{' and '.join(type(act).__name__ for act in taken)} is not among the pending acts"
    return None


def _brings_inspection(command: object, call_id: str) -> bool:
    if isinstance(command, InspectEffect):
        return command.call_id == call_id
    return isinstance(command, StartTimer) and command.timer_id == f"inquiry/{call_id}"


def _is_taken(state: State, act: Event, core: Core, *, busy: bool) -> bool:
    passage = Passage(state, act, core.reduce(state, act), core)
    return passage.verdict == "accepted" or (busy and passage.verdict == "ignored")


L5 = Law(
    "L5", words(unknown_always_has_an_inspect_action), unknown_always_has_an_inspect_action, state=missing_inspection
)


@transition_law("L6")
def intent_is_durable_before_the_effect(passage: Passage) -> str | None:
    """Unless the tool is pure, ``ExecuteTool(call, attempt)`` is ordered only when a ``CheckpointWritten`` covers the
    event that released that attempt.

    So the event of a release is the seq at which its attempt first appears, and what is held for durable rises only by
    ``CheckpointWritten``, to what it says, or by a resume, which is synced before anything is done about it. What a
    checkpoint says is durable then, and a release that it covers has started.
    """
    before, after, event = passage.before, passage.after, passage.event
    if before is after:
        return None
    if problem := _wrongly_durable(before, after, event):
        return problem
    for old, new in passage.moved:
        if old is not None and new is not None and (problem := _misdated(old, new, after.seq)):
            return problem
    for command in passage.executions:
        call = find_call(after, command.call_id)
        if call is None or call.run is None or call.run.id != (command.epoch, command.attempt):
            return f"an execution of {command.call_id} was ordered that no call of the state speaks of"
        if not call.contract.pure and after.storage.durable < call.run.seq:
            return f"{call.call_id} is executed, its release {call.run.seq} is not durable ({after.storage.durable})"
    return None


def _wrongly_durable(before: State, after: State, event: Event) -> str | None:
    durable = after.storage.durable
    said = event.seq if isinstance(event, CheckpointWritten) else before.storage.durable
    if durable != said and not isinstance(event, SessionResumed):
        return f"durable went from {before.storage.durable} to {durable} by {type(event).__name__}"
    if isinstance(event, CheckpointWritten):
        for call in all_calls(after):
            if isinstance(call.state, Released) and call.state.run.seq <= durable:
                return f"the release of {call.call_id} is durable, and it has not started"
    return None


def _misdated(old: Call, new: Call, seq: int) -> str | None:
    """Say that an attempt which has just been released says another event than this one for it."""
    run, known = new.run, {run.id for run in (*old.unproved, *old.voided, *((old.run,) if old.run is not None else ()))}
    if run is None or run.id in known or run.seq == seq:
        return None
    return f"attempt {run.id} of {new.call_id} was released at {seq} and says {run.seq}"


@transition_law("L10")
def only_allowed_arguments_run(passage: Passage) -> str | None:
    """An execution runs only arguments that were allowed, or approved under the digest of exactly those, and only a
    tool
    that the configuration in force has.

    So a call becomes ready only by ``PolicyAllowed`` or ``ApprovalGranted`` for it, or by being asked about again under
    the digest that a person has granted; from there on its arguments and their digest stay as they are. A resume brings
    another configuration: no permission, no question and no review outlives it, what may run is reviewed again.
    """
    if passage.before is passage.after:
        return None
    if isinstance(passage.event, SessionResumed) and (problem := _unreviewed(passage)):
        return problem
    for old, new in passage.moved:
        if new is None or not isinstance(new.state, Ready | Released | Executing | CancellationRequested):
            continue
        unreviewed = old is None or isinstance(old.state, Proposed | AwaitingApproval)
        if unreviewed and not (old is None and new.registered) and not _permits(passage.event, new):
            return f"{new.call_id} became {type(new.state).__name__} by {type(passage.event).__name__}"
        changed = old is not None and (old.arguments, old.digest) != (new.arguments, new.digest)
        if changed and not unreviewed and not _permits(passage.event, new):
            return f"the arguments of {new.call_id} changed after they were allowed"
    for command in passage.executions:
        call = find_call(passage.after, command.call_id)
        if call is None or call.digest != digest(call.arguments):
            return f"{command.call_id} runs arguments whose digest was not allowed"
        if passage.after.config.tool(call.name) is None:
            return f"{command.call_id} runs {call.name!r}, which the configuration in force does not have"
    return None


def _unreviewed(passage: Passage) -> str | None:
    """Say which call may run after a resume by what was allowed or asked before it."""
    reviews = {call.call_id: call.tries.reviews for call in all_calls(passage.before)}
    for call in all_calls(passage.after):
        if not isinstance(call.state, Proposed | EffectUnknown | Settled):
            return f"{call.call_id} is {type(call.state).__name__} after a resume"
        if not isinstance(call.state, Proposed):
            continue
        if call.tries.reviews <= reviews.get(call.call_id, 0):
            return f"{call.call_id} is not reviewed anew after a resume"
        if passage.after.config.tool(call.name) is None:
            return f"{call.call_id} is reviewed after a resume, and there is no {call.name!r}"
    return None


def _permits(event: Event, call: Call) -> bool:
    """Say whether an event lets a call run with the arguments that it has."""
    if not isinstance(event, PolicyAllowed | ApprovalGranted | PolicyAsked) or event.call_id != call.call_id:
        return False
    if isinstance(event, PolicyAsked) and (call.grant is None or call.grant.digest != event.digest):
        return False
    return event.digest == call.digest == digest(event.arguments) and event.arguments == call.arguments


@transition_law("L12")
def a_cut_message_runs_nothing(passage: Passage) -> str | None:
    """A truncated message, or one whose arguments end early, executes none of its calls. Complete but invalid arguments
    spoil only their own call: every other one of its message is proposed.
    """
    after = passage.after
    if passage.before is after or after.batch is None:
        return None
    message = after.batch.message
    if passage.executions and is_cut(message):
        cut = {call.call_id for call in after.batch.calls}
        for command in passage.executions:
            if command.call_id in cut:
                return f"{command.call_id} is executed, though its message was cut"
    if isinstance(passage.event, ModelReplied) and passage.before.batch is None and not is_cut(message):
        return _spoiled(after)
    return None


def is_cut(message: AssistantMessage) -> bool:
    """Say whether a message was cut, by its label or by arguments that end early."""
    parsed = (parse_arguments(part.arguments).state for part in message.calls)
    return message.finish is FinishReason.LENGTH or ArgumentsState.INCOMPLETE in parsed


def _spoiled(state: State) -> str | None:
    for call in state.batch.calls if state.batch is not None else ():
        sound = parse_arguments(call.raw_arguments).state is ArgumentsState.COMPLETE
        usable = sound and state.config.tool(call.name) is not None
        if usable == isinstance(call.state, Settled):
            fitness = "usable" if usable else "unusable"
            return f"{call.call_id} is {type(call.state).__name__}, its own arguments and name are {fitness}"
    return None


@transition_law("L22")
def a_started_effect_is_in_one_place(passage: Passage) -> str | None:
    """Every started effect is at any time in exactly one of running, cancellation requested, unknown, settled.

    Its state is the one in the register, else the one in the batch, else its written result; and that never says of an
    effect which may have begun that it was not started or not allowed. A call that stands in both
    has its answer in the batch; one that leaves both has left its result in history; an attempt of which absence is
    proved may stand behind a call that is to run again, as one that is voided.
    """
    before, after = passage.before, passage.after
    if before is after or not passage.moved:
        return None
    said = (message.results for message in passage.said if isinstance(message, ToolMessage))
    written = {result.call_id: result.outcome for results in said for result in results}
    present = {(call.registered, call.call_id): call for call in all_calls(after)}
    if len(present) != sum(1 for _ in all_calls(after)):
        return "a call stands twice in one place"
    for call in _started(before):
        entry, own = present.get((True, call.call_id)), present.get((False, call.call_id))
        if entry is not None and own is not None and not isinstance(own.state, Settled):
            return f"{call.call_id} stands in the register and, unsettled, in the batch"
        found = entry or own
        if found is None and call.call_id not in written and not call.registered:
            return f"{call.call_id} was started and is nowhere"
        settled = found.state if found is not None else None
        outcome = settled.outcome if isinstance(settled, Settled) else written.get(call.call_id)
        if _is_denied(call, outcome):
            return f"{call.call_id} may have acted, and is settled as if it had not been started"
        same = found is not None and (isinstance(found.state, Settled) or _run_id(found) == _run_id(call))
        if found is not None and not same and not _is_retried(call, found):
            return f"attempt {_run_id(call)} of {call.call_id} was started, and {type(found.state).__name__} forgets it"
    return None


def _is_denied(old: Call, outcome: Outcome | None) -> bool:
    """Say whether a call that was running or unknown has an outcome of calls that never ran; a read may have one."""
    if old.contract.pure or not isinstance(old.state, Executing | CancellationRequested | EffectUnknown):
        return False
    unstarted = isinstance(outcome, NotExecuted) and outcome.reason in _UNSTARTED
    return unstarted or isinstance(outcome, DeniedCall | InvalidCall)


_UNSTARTED = (
    NotExecutedReason.USER_ABORT,
    NotExecutedReason.TURN_STOPPED,
    NotExecutedReason.MAX_TOOL_CALLS,
    NotExecutedReason.STORAGE,
)


def _started(state: State) -> Iterator[Call]:
    return (call for call in all_calls(state) if call.run is not None)


def _run_id(call: Call) -> tuple[int, int] | None:
    return call.run.id if call.run is not None else None


def _is_retried(old: Call, new: Call) -> bool:
    """Say whether the attempt that was under way is kept as voided, unproved or harmless behind another one.

    Or it has ended in a way that denies an effect, and an earlier attempt that may have had one is found out instead.
    """
    kept = {run.id for run in (*new.voided, *new.unproved)}
    earlier = isinstance(new.state, EffectUnknown) and _run_id(new) in {run.id for run in old.unproved}
    return new.contract.pure or _run_id(old) in kept or earlier
