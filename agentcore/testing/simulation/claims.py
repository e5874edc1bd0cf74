"""What a loop says against what happened: the invariants of the simulation, one named function each.

A *claim* is whatever the session shows as settled: a result in its history, a call that has its answer, an entry of the
register, the word by which an end is shown. Each check looks at the session from outside and at the world from inside,
and shares nothing with the reducer but the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import attrs

from agentcore.commands import ExecuteTool, RequestModel
from agentcore.messages import (
    CancelledCall,
    EffectSeen,
    FailedCall,
    InvalidCall,
    MessageSource,
    Outcome,
    ProvedBy,
    Succeeded,
    ToolMessage,
    UserMessage,
    digest,
    is_open,
)
from agentcore.projections import UiStatus
from agentcore.states import Because, Run, Settled, State, Stopping, Transition
from agentcore.testing.laws.deeds import denies_effect
from agentcore.testing.laws.record import unbalanced
from agentcore.testing.passage import Passage, all_calls, find_call
from agentcore.testing.simulation.session import Simulation
from agentcore.testing.world import Attempt, Deed

Check = Callable[[Simulation], str | None]
"""Says what is wrong, or ``None``."""

_WRITTEN = Transition(Because.RESULTS_APPENDED)


@attrs.frozen
class Claim:
    """What is said of one call."""

    call_id: str
    """The call."""
    name: str
    """Its tool."""
    outcome: Outcome
    """What is said to have become of it."""
    where: str
    """Where it is said."""


def claims(state: State) -> Iterator[Claim]:
    """Yield everything that is said of a call that has its answer."""
    for message in state.history:
        if isinstance(message, ToolMessage):
            for result in message.results:
                yield Claim(result.call_id, result.name, result.outcome, "history")
    for call in all_calls(state):
        if isinstance(call.state, Settled):
            yield Claim(call.call_id, call.name, call.state.outcome, "register" if call.registered else "batch")


def effects_happen_once(sim: Simulation) -> str | None:
    """No effect happens twice, unless its tool only reads or its service knows the key, or a person spoke between."""
    deeds = Counter(
        each.call_id
        for each in sim.world.attempts
        if each.deed is Deed.DONE and not each.excused and not each.repeatable
    )
    return next(
        (f"the effect of {call_id} happened {times} times" for call_id, times in deeds.items() if times > 1), None
    )


def what_is_claimed_happened(sim: Simulation) -> str | None:
    """No effect is claimed that did not happen: a success by any proof but a person's word has a deed behind it."""
    for claim in claims(sim.state):
        attempts = list(sim.world.of(claim.call_id))
        if _claims_deed(claim.outcome) and _acts(sim, claim) and not any(_happened(each) for each in attempts):
            return f"{claim.where} says {claim.outcome} of {claim.call_id}, and nothing of it happened"
        if _claims_start(claim.outcome) and _acts(sim, claim) and not attempts:
            return f"{claim.where} says that {claim.call_id} was started, and it never was"
    return None


def _acts(sim: Simulation, claim: Claim) -> bool:
    contract = sim.contracts.get(claim.name)
    return claim.call_id != "" and contract is not None and not contract.pure


def _happened(attempt: Attempt) -> bool:
    return attempt.deed is Deed.DONE


def _claims_start(outcome: Outcome) -> bool:
    return isinstance(outcome, Succeeded) and outcome.summary == "started"


def _claims_deed(outcome: Outcome) -> bool:
    match outcome:
        case Succeeded(proved_by=by):
            return by is not ProvedBy.PERSON and not _claims_start(outcome)
        case CancelledCall(effect=effect):
            return effect is EffectSeen.DONE
        case _:
            return False


def what_is_denied_did_not_happen(sim: Simulation) -> str | None:
    """No effect is denied that did happen, or that still can: a paused worker included, a person's word apart."""
    for claim in claims(sim.state):
        if not _denies(claim.outcome):
            continue
        acting = [each.run for each in sim.world.of(claim.call_id) if _may_have_acted(sim, each)]
        if acting:
            return f"{claim.where} says {claim.outcome} of {claim.call_id}, and {acting} acted or still can"
    return None


def _denies(outcome: Outcome) -> bool:
    if isinstance(outcome, FailedCall) and outcome.proved_by is ProvedBy.PERSON:
        return False
    return isinstance(outcome, InvalidCall) or denies_effect(Settled(_WRITTEN, outcome))


def _may_have_acted(sim: Simulation, attempt: Attempt) -> bool:
    return not attempt.excused and (_happened(attempt) or attempt.may_act(sim.world.now))


def no_deed_is_passed_over(sim: Simulation) -> str | None:
    """What was begun is spoken of for ever, and where an end is shown with a comforting word, by its right name.

    *Done* and *cancelled* are said only where each effect that happened or still can is claimed, or runs as a task.
    """
    said: dict[str, list[Outcome]] = {}
    for claim in claims(sim.state):
        said.setdefault(claim.call_id, []).append(claim.outcome)
    open_calls = {call.call_id for call in all_calls(sim.state) if not isinstance(call.state, Settled)}
    comforting = sim.core.status(sim.state) in (UiStatus.DONE, UiStatus.CANCELLED)
    for attempt in sim.world.attempts:
        if not _may_have_acted(sim, attempt):
            continue
        outcomes = said.get(attempt.call_id, ())
        if not outcomes and attempt.call_id not in open_calls:
            return f"{attempt.call_id} acted or still can, and nobody speaks of it"
        told = attempt.call_id in open_calls or any(map(_admits, outcomes))
        if comforting and not told:
            return f"the end is shown as good, and {attempt.call_id} is spoken of only as {outcomes}"
    return None


def _admits(outcome: Outcome) -> bool:
    return isinstance(outcome, Succeeded | CancelledCall) or is_open(outcome)


def no_message_is_lost(sim: Simulation) -> str | None:
    """Every message of a user that was accepted stands in history or a queue, once, unless it was withdrawn."""
    places = Counter(
        message.message_id
        for message in sim.state.history
        if isinstance(message, UserMessage) and message.source in _OF_USERS
    )
    queues = sim.state.queues
    places.update(queued.message_id for queued in (*queues.steering, *queues.follow_ups))
    for message_id in sim.heard:
        wanted = 0 if message_id in sim.withdrawn else 1
        if places[message_id] != wanted:
            return f"message {message_id!r} is there {places[message_id]} times, {wanted} are right"
    return None


_OF_USERS = (MessageSource.PROMPT, MessageSource.FOLLOW_UP, MessageSource.STEERING)


def calls_are_answered_once(sim: Simulation) -> str | None:
    """Every call that a model made is answered, once, right behind it, in everything a model is asked with."""
    for passage in sim.fresh:
        for command in passage.commands:
            if isinstance(command, RequestModel):
                sent = sim.core.request_messages(passage.after, command.request_id).messages
                if problem := unbalanced(sent):
                    return f"request {command.request_id}: {problem}"
    return None


def nothing_acts_before_it_is_recorded(sim: Simulation) -> str | None:
    """An execution of a tool that acts is ordered only when the disk cannot lose the event that released it."""
    for passage, command, run in _begun(sim):
        call = find_call(passage.after, command.call_id)
        if call is not None and not call.contract.pure and run.seq > sim.disk.synced:
            return f"{command.call_id} is executed, released by event {run.seq}; {sim.disk.synced} events are durable"
    return None


def _begun(sim: Simulation) -> Iterator[tuple[Passage, ExecuteTool, Run]]:
    for passage in sim.fresh:
        for command in passage.executions:
            call = find_call(passage.after, command.call_id)
            if call is not None and call.run is not None:
                yield passage, command, call.run


def nothing_runs_without_leave(sim: Simulation) -> str | None:
    """What is executed was allowed by the rules or by a person, with exactly these arguments, and its tool exists."""
    for passage, command, _ in _begun(sim):
        call = find_call(passage.after, command.call_id)
        if call is None or passage.after.config.tool(call.name) is None:
            return f"{command.call_id} is executed, and there is no such tool"
        if digest(call.arguments) not in sim.leave.get(command.call_id, ()):
            return f"{command.call_id} is executed with {call.arguments}, which nobody allowed"
    return None


def nothing_begins_in_a_stop(sim: Simulation) -> str | None:
    """A turn whose end is decided begins nothing: no execution, no request."""
    for passage in sim.fresh:
        stopped = isinstance(passage.before.phase, Stopping) and isinstance(passage.after.phase, Stopping)
        begun = [*passage.executions, *passage.requests]
        if stopped and begun:
            return f"the turn is stopping, and {begun[0]} was ordered"
    return None


def what_was_recorded_comes_back(sim: Simulation) -> str | None:
    """What a crash left on the disk is read as the very state that the session was in."""
    if sim.restored is None:
        return None
    (read, lived), sim.restored = sim.restored, None
    return None if read == lived else f"after event {lived.seq} something else was read than was lived"


def laws_hold(sim: Simulation) -> str | None:
    """Every law that looks at an event, a path or the world holds, and the core has no defect."""
    return sim.trouble


CLAIMS: Mapping[str, Check] = {
    "effects-happen-once": effects_happen_once,
    "what-is-claimed-happened": what_is_claimed_happened,
    "what-is-denied-did-not-happen": what_is_denied_did_not_happen,
    "no-deed-is-passed-over": no_deed_is_passed_over,
    "no-message-is-lost": no_message_is_lost,
    "calls-are-answered-once": calls_are_answered_once,
    "nothing-acts-before-it-is-recorded": nothing_acts_before_it_is_recorded,
    "nothing-runs-without-leave": nothing_runs_without_leave,
    "nothing-begins-in-a-stop": nothing_begins_in_a_stop,
    "what-was-recorded-comes-back": what_was_recorded_comes_back,
    "laws-hold": laws_hold,
}
"""Every invariant by name. That every turn ends is shown by ``calm``, which lets it."""


def problem_of(sim: Simulation, checks: Mapping[str, Check] = CLAIMS) -> str | None:
    """Say what is wrong now with what happened since somebody looked last; nothing of that is looked at again."""
    found = ((name, check(sim)) for name, check in checks.items())
    problem = next((f"{name}: {problem}" for name, problem in found if problem), None)
    sim.fresh.clear()
    return problem
