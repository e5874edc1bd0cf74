"""States that walks seldom reach, each a step away from one they did: bounds used up, tries gone, attempts unproved.

What is done to a state could have come about, or nearly so; passages to which a law objects are left out by whoever
collects them.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from attrs import evolve

from agentcore import events
from agentcore.commands import ANSWERS, Command
from agentcore.events import AbortScope, Event
from agentcore.messages import EffectSeen, TextPart
from agentcore.outstanding import outstanding
from agentcore.policy import Effect
from agentcore.reduce import reduce
from agentcore.states import Call, Run, State
from agentcore.testing.answers import failing
from agentcore.testing.passage import all_calls
from agentcore.testing.probes import an_event

BOUNDS = ("checkpoint_retries", "effect_retries", "inspections", "model_retries", "resumes", "steps", "tokens")
"""Limits at which a row leads to another of its targets."""


def strained(state: State) -> Iterator[tuple[State, Event]]:
    """States beside this one, each with what may happen there."""
    beside = (state, _at_its_bounds(state), _with_tasks_that_matter(state), *_with_earlier_attempts(state))
    for each in beside:
        for event in _next(each):
            yield each, event
            after = reduce(each, event).state
            if after is not each:
                yield from ((after, then) for then in _next(after))


def _next(state: State) -> Iterator[Event]:
    """Each answer to what is outstanding, late ones too; somebody stops things, or takes the session up again."""
    at, turn, config = state.at, state.turn.number, state.config
    for command in outstanding(state):
        for late in {at, max(at, state.turn.due_at or 0)}:
            yield from _answers(command, late)
    yield events.AbortRequested(at=at, act_id="strained", scope=AbortScope.TURN, turn=turn)
    bare = evolve(config, tools=(), policy=evolve(config.policy, completion_required=False))
    yield from (events.SessionResumed(at=at, config=each) for each in (config, bare))
    for call in all_calls(state):
        yield events.AbortRequested(at=at, act_id="one", scope=AbortScope.CALL, call_id=call.call_id)
        yield from _about(call, at)


def _answers(command: Command, at: int) -> Iterator[Event]:
    """The failure of a command, and what else may answer it about the very thing."""
    failure = failing(command, at)
    if failure is None:
        return
    yield failure
    for kind in ANSWERS[type(command)]:
        fields = {field.name for field in attrs.fields(kind)}
        if type(failure) is not kind and "epoch" in fields:
            said = {"parts": (TextPart("Done."),)} if kind is events.ModelReplied else {}
            yield an_event(kind, at, **said, **{name: getattr(command, name) for name in NAMES if name in fields})


NAMES = ("call_id", "request_id", "seq", "epoch", "attempt")
"""The fields of a command that its answers repeat."""


def _about(call: Call, at: int) -> Iterator[Event]:
    """Ends of each attempt of a call, and the words of a person about it."""
    for run in (*((call.run,) if call.run is not None else ()), *call.unproved):
        named = {"call_id": call.call_id, "epoch": run.epoch, "attempt": run.attempt}
        for kind in (events.ToolSucceeded, events.ToolFailed, events.ToolLost, events.TaskSettled):
            yield an_event(kind, at, **named)
        yield an_event(events.TaskSettled, at, succeeded=False, **named)
        for effect in EffectSeen:
            yield an_event(events.ToolCancelled, at, effect=effect, **named)
    for resolution in events.Resolution:
        for retry in (False, True):
            yield events.EffectResolved(at=at, call_id=call.call_id, resolution=resolution, retry=retry)
    yield events.RetryRequested(at=at, call_id=call.call_id)


def _at_its_bounds(state: State) -> State:
    """The state under limits that are all used up."""
    limits = evolve(state.config.limits, **dict.fromkeys(BOUNDS, 0))
    return evolve(state, config=evolve(state.config, limits=limits))


def _with_tasks_that_matter(state: State) -> State:
    """The state with tasks that its turn waits for, and that block it where they fail."""
    own = f"{state.turn.number}."
    register = tuple(
        evolve(call, contract=evolve(call.contract, detached=True, required=True, on_failure="block"))
        if call.call_id.startswith(own)
        else call
        for call in state.register
    )
    return evolve(state, register=register)


def _with_earlier_attempts(state: State) -> Iterator[State]:
    """The state with one and with two earlier attempts of each unsettled call of its batch whose ends nobody knows."""
    if state.batch is None:
        return
    for number in (1, 2):
        calls = tuple(_tried(state, call, number) for call in state.batch.calls)
        yield evolve(state, phase=evolve(state.phase, batch=evolve(state.batch, calls=calls)))


def _tried(state: State, call: Call, number: int) -> Call:
    """A call whose effect is deduplicated and that goes on in the background, after so many attempts."""
    runs = tuple(Run(state.epoch, attempt, max(state.seq - 1, 0), state.at, covered_at=state.at) for attempt in (1, 2))
    if call.tries.executions > 1 or call.registered or hasattr(call.state, "outcome"):
        return call
    run = call.run
    later = evolve(call.state, run=evolve(run, attempt=number + 1)) if run is not None else call.state
    tries = evolve(call.tries, executions=number + (run is not None))
    contract = evolve(call.contract, effect=Effect.KEYED, acts_within_ms=None, detached=True)
    return evolve(call, state=later, unproved=runs[:number], tries=tries, contract=contract, counted=True)
