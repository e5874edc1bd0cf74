"""What is refused, ignored and accepted by the true reducer, in as many ways as there are: for forging something else.

Everything is enumerated: each situation of the matrix with each relation of the ids and each probe, and sessions of a
few more kinds. Of what comes out the same, one is kept for each state it was met in, up to a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import attrs

from agentcore import Effect, Judgement, Limits, Policy, ToolContract, outstanding, reduce
from agentcore.events import (
    EVENTS,
    AbortScope,
    ApprovalGranted,
    EffectResolved,
    Event,
    Finding,
    MessageWithdrawn,
    ModelFailure,
    PolicyAsked,
    PromptSubmitted,
    Resolution,
    RetryRequested,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolProgressed,
    ToolSucceeded,
)
from agentcore.messages import EffectSeen, digest
from agentcore.states import State
from agentcore.testing.matrix import RELATIONS, related
from agentcore.testing.passage import all_calls
from agentcore.testing.probes import an_event, foreign_events, late_events, own_events
from agentcore.testing.situations import call_states, phases
from tests.core.driver import Session, tool
from tests.laws.forging import asked, running

KEPT = 3
"""Of each class of event and verdict so many are kept."""


@attrs.frozen(eq=False)
class Met:
    """An event, the state it met, and how it was judged."""

    state: State
    event: Any
    judged: Judgement

    @property
    def kind(self) -> type[Event]:
        return type(self.event)


@cache
def pool() -> tuple[Met, ...]:
    """A few of every way in which an event of a class can be judged."""
    kept: list[Met] = []
    seen: Counter[Any] = Counter()
    for state, event in _everything():
        met = Met(state, event, reduce.examine(state, event))
        mark = met.kind, met.judged.verdict, met.judged.reason, type(state.phase), len(outstanding(state)) > 2
        seen[mark] += 1
        seen[mark[:3]] += seen[mark] == 1
        if seen[mark] == 1 and seen[mark[:3]] <= 2 * KEPT:
            kept.append(met)
    return tuple(kept)


def _everything() -> Iterator[tuple[State, Event]]:
    for situation in (*phases(), *call_states()):
        for kind, relation in product(EVENTS, RELATIONS):
            event = related(situation, kind, relation)
            if event is not None:
                yield situation.state, event
        for event in (*_probes(situation.state), *situation.journal):
            yield situation.state, event
    for made in sessions():
        told = [line.event for line in made.trace]
        for event in (*_probes(made.state), *told):
            yield made.state, event


def _probes(state: State) -> Iterator[Event]:
    yield from late_events(state, outstanding(state))
    yield from foreign_events(state)
    yield from own_events(state)
    at = state.at
    for message_id in ("prompt", "said", "nobody"):
        yield PromptSubmitted(at=at, message_id="new", queued=(message_id,))
        yield MessageWithdrawn(at=at, message_id=message_id)
    for call in all_calls(state):
        yield from _words(state, call.call_id)
        for run in (*((call.run,) if call.run is not None else ()), *call.unproved, *call.voided):
            yield from _ends(call.call_id, *run.id, at)
        reviewed = {"call_id": call.call_id, "epoch": state.epoch, "attempt": call.tries.reviews}
        yield an_event(PolicyAsked, at, **reviewed, arguments="[]", digest=digest("{}"))
        asked_for = {"call_id": call.call_id, "epoch": state.epoch, "attempt": call.tries.questions}
        yield an_event(ApprovalGranted, at, **asked_for, arguments="[]", digest=digest("{}"))


def _words(state: State, call_id: str) -> Iterator[Event]:
    for act_id, resolution in product(("", "word"), Resolution):
        yield EffectResolved(at=state.at, call_id=call_id, resolution=resolution, act_id=act_id)
        yield RetryRequested(at=state.at, call_id=call_id, act_id=act_id)


def _ends(call_id: str, epoch: int, attempt: int, at: int) -> Iterator[Event]:
    named = {"call_id": call_id, "epoch": epoch, "attempt": attempt}
    for words in ("ok", "otherwise"):
        yield ToolSucceeded(at=at, **named, result=words)
        yield ToolFailed(at=at, **named, error=words)
        yield ToolProgressed(at=at, **named, observation=words)
        for succeeded in (True, False):
            yield TaskSettled(at=at, **named, succeeded=succeeded, result=words)
    for effect in EffectSeen:
        yield ToolCancelled(at=at, **named, effect=effect)


def sessions() -> Iterator[Session]:
    """Sessions in which calls have earlier attempts, late reports, decisions that were heard, and open entries."""
    for effect in (Effect.FENCEABLE, Effect.KEYED, Effect.OPAQUE):
        for detached in (False, True):
            yield from _tried_again(tool("a", effect, detached=detached))
    yield from _decided()
    yield from _absent()
    yield from _stopped()
    yield from _queued()
    yield _compacted()


def _tried_again(contract: ToolContract) -> Iterator[Session]:
    """A call whose first attempt was lost: released again, running again, told to stop, unknown again, given up."""
    made = _lost_once(contract)
    yield made
    made.all_saved()
    made.progressed("half")
    yield made
    made.abort(AbortScope.CALL, call_id="1.1.0")
    yield made
    made.lose()
    yield made
    for kind, said in ((ToolSucceeded, {"result": "ok"}), (ToolFailed, {"error": "ok"})):
        made = _lost_once(contract)
        made.all_saved()
        made.lose()
        made.tried(kind, call_id="1.1.0", epoch=0, attempt=1, **said)
        yield made
    for resolution in (Resolution.ABANDONED, Resolution.NOT_EXECUTED):
        made = _lost_once(contract)
        made.all_saved()
        made.abort()
        made.lose()
        made.tried(EffectResolved, call_id="1.1.0", resolution=resolution)
        yield made


def _lost_once(contract: ToolContract) -> Session:
    made = Session(contract, limits=Limits(effect_retries=1, observations=1))
    made.execute(contract.name)
    made.started()
    made.lose()
    if contract.effect is not Effect.KEYED:
        made.resolve(Resolution.NOT_EXECUTED, retry=True, act_id="word")
    return made


def _decided() -> Iterator[Session]:
    """Calls about which something was heard, while others still wait."""
    for verb in ("allow", "ask", "block", "refuse_arguments"):
        made = asked(Effect.OPAQUE, Effect.OPAQUE)
        getattr(made, verb)(call_id="1.1.0")
        yield made
    for verb in ("grant", "deny"):
        made = asked(Effect.OPAQUE, Effect.OPAQUE, policy=Policy(denied_refused="return_error"))
        made.ask("1.1.0")
        getattr(made, verb)(call_id="1.1.0")
        yield made
    made = asked(Effect.OPAQUE)
    made.ask()
    made.resume()
    yield made


def _absent() -> Iterator[Session]:
    """An effect that was proved absent while another call runs: with tries left, and without."""
    for tries in (0, 1):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE, limits=Limits(effect_retries=tries))
        made.lose("1.1.0")
        made.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        yield made


def _stopped() -> Iterator[Session]:
    """A call that was told to stop and did, without effect and with one, while another runs."""
    for effect in (EffectSeen.NONE, EffectSeen.DONE):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.abort(AbortScope.CALL, call_id="1.1.0")
        made.stopped(effect, "1.1.0")
        yield made


def _queued() -> Iterator[Session]:
    """Messages that wait, that were delivered, and that were taken back."""
    made = Session()
    made.prompt(message_id="prompt")
    made.follow_up(message_id="said")
    made.steer(message_id="beside")
    yield made
    made.abort()
    made.model_stops()
    made.all_saved()
    made.reopen()
    yield made
    made.withdraw("said")
    yield made


def _compacted() -> Session:
    """A step whose context was made smaller after an overflow."""
    made = Session()
    made.prompt()
    made.model_fails(ModelFailure.OVERFLOW)
    made.compacted()
    return made
