"""Beginning: a turn, a step, a request. One function each, the only ones that do it.

A new step is begun by ``begin_step`` alone, reached from results written, steering, nudges and refused completions
(D-34). Retry, compaction and media downgrade return to the request of the *same* step.
"""

from __future__ import annotations

from agentcore.events import CompactionPurpose
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import MessageSource, TextPart, UserMessage, is_open
from agentcore.states import (
    AwaitingModel,
    Because,
    Call,
    Compacting,
    Completed,
    Ending,
    Preparing,
    Request,
    Settled,
    State,
    StopReason,
    Turn,
)
from agentcore.steps.base import in_phase, in_turn, why
from agentcore.steps.ending import add_evidence, end_turn


def begin_turn(state: State, messages: tuple[UserMessage, ...], because: Because) -> State:
    """Begin a turn with the user's messages: fresh counters, a fresh clock, the first step."""
    limits = state.config.limits
    number = state.turns + 1
    turn = Turn(number=number, started_at=state.at, context_tokens=state.turn.context_tokens)
    if limits.turn_ms is not None:
        turn = evolve(turn, due_at=state.at + limits.turn_ms, clocks=1)
    return begin_step(evolve(state, turn=turn, turns=number, history=state.history.append(*messages)), because)


def used_up(state: State) -> Ending | None:
    """Say which limit forbids a further request of this turn, if one does: time, tokens, cost."""
    limits, turn = state.config.limits, state.turn
    if turn.due_at is not None and state.at >= turn.due_at:
        return Ending(StopReason.TIMEOUT, evidence=(("turn_ms", str(limits.turn_ms)),))
    if not allows(limits.tokens, turn.usage.tokens):
        return Ending(StopReason.MAX_TOKENS, evidence=(("tokens", str(turn.usage.tokens)),))
    if not allows(limits.cost_micros, turn.usage.cost_micros or 0):
        return Ending(StopReason.MAX_COST, evidence=(("cost_micros", str(turn.usage.cost_micros or 0)),))
    return None


def begin_step(state: State, because: Because) -> State:
    """Begin the next step, if the limits allow one more request; notices, then steering, are delivered with it."""
    ending = used_up(state)
    if ending is None and not allows(state.config.limits.steps, state.turn.steps):
        ending = Ending(StopReason.MAX_STEPS, evidence=(("steps", str(state.turn.steps)),))
    if ending is not None:
        return end_turn(state, add_evidence(ending, ("cause", because.value)))
    state, delivered = _deliver(state)
    turn = evolve(
        state.turn,
        step=state.turn.step + 1,
        steps=state.turn.steps + 1,
        preparations=0,
        requests=0,
        compactions=0,
        reviews=0,
        counters=evolve(state.turn.counters, model_retries=0, resumes=0),
    )
    state = in_turn(state, turn)
    named = () if because in delivered else (because,)
    transition = why(because, ("step", turn.step), hops=(*named, *delivered, Because.STEP_BEGUN))
    return in_phase(state, Preparing(transition, state.request_id, prepared=not state.config.prepares_steps))


def _deliver(state: State) -> tuple[State, tuple[Because, ...]]:
    """Move notices, then steering, from their queues into history."""
    queues = state.queues
    hops = []
    if queues.notices:
        hops.append(Because.NOTICES_DELIVERED)
    if queues.steering:
        hops.append(Because.STEERING_DELIVERED)
    if not hops:
        return state, ()
    messages = tuple(queued.message() for queued in (*queues.notices, *queues.steering))
    queues = evolve(queues, notices=(), steering=())
    history = state.history.append(*messages)
    return evolve(state, queues=queues, history=history, register=_still_open(state.register)), tuple(hops)


def _still_open(register: tuple[Call, ...]) -> tuple[Call, ...]:
    """Drop entries whose proved outcome has now been told: the register holds what is not known or not told."""
    return tuple(call for call in register if not isinstance(call.state, Settled) or is_open(call.state.outcome))


def nudged(state: State, text: str, source: MessageSource = MessageSource.NUDGE) -> State:
    """Add a message of the loop itself for the model to read."""
    turn = evolve(state.turn, nudges=state.turn.nudges + 1)
    message = UserMessage(f"{source.value}/{turn.number}.{turn.nudges}", source, (TextPart(text),))
    return evolve(state, turn=turn, history=state.history.append(message))


def order_preparation(state: State) -> State | None:
    """Let the host prepare the step, where it installed something for that."""
    phase = state.phase
    if not isinstance(phase, Preparing) or phase.prepared or phase.ordered:
        return None
    state = in_turn(state, evolve(state.turn, preparations=state.turn.preparations + 1))
    return in_phase(state, evolve(phase, transition=why(Because.PREPARATION_ORDERED), ordered=True))


def compact_at_threshold(state: State) -> State | None:
    """Make the context smaller before the request when it has reached the threshold, once a step."""
    threshold = state.config.limits.compact_at_tokens
    if not _may_ask(state) or threshold is None or state.turn.context_tokens < threshold:
        return None
    evidence = (("context_tokens", state.turn.context_tokens), ("threshold", threshold))
    return order_compaction(state, CompactionPurpose.THRESHOLD, Because.THRESHOLD_REACHED, *evidence)


def order_compaction(
    state: State, purpose: CompactionPurpose, because: Because, *evidence: tuple[str, object], cause: str = ""
) -> State:
    """Enter ``Compacting`` for a purpose, on account of a provider's error if there was one."""
    state = in_turn(state, evolve(state.turn, compactions=state.turn.compactions + 1))
    return in_phase(state, Compacting(why(because, *evidence), state.request_id, purpose, cause))


def request_when_prepared(state: State) -> State | None:
    """Ask the model once the step is prepared and a mended import is durable."""
    if not _may_ask(state):
        return None
    return request_model(state, Because.STEP_PREPARED if state.config.prepares_steps else Because.PREPARATION_SKIPPED)


def _may_ask(state: State) -> bool:
    """Say whether the step is prepared and a mended import, if there is one, is durable (D-35)."""
    phase = state.phase
    return isinstance(phase, Preparing) and phase.prepared and state.storage.durable >= state.storage.barrier


def request_model(state: State, because: Because, *evidence: tuple[str, object]) -> State:
    """Order the next attempt of the step's request, if time, tokens and cost allow it."""
    ending = used_up(state)
    if ending is not None:
        return end_turn(state, ending)
    attempt = state.turn.requests + 1
    state = in_turn(state, evolve(state.turn, requests=attempt))
    limit = state.config.limits.model_ms
    due_at = None if limit is None else state.at + limit
    transition = why(because, ("attempt", attempt), *evidence)
    return in_phase(state, AwaitingModel(transition, Request(state.request_id, attempt, due_at)))


def begin_follow_up(state: State) -> State | None:
    """Begin the next turn from a saved answer when a message waits: steering that missed its turn, else a follow-up."""
    phase, queues = state.phase, state.queues
    if not isinstance(phase, Completed) or phase.unsaved or phase.ending.reason is StopReason.STOPPED_BY_HOST:
        return None
    if phase.transition.because is Because.WAITING_GIVEN_UP:
        # Somebody aborted while the end was being saved: nothing begins without an explicit act (D-10).
        return None
    if queues.steering:
        first, queues = queues.steering[0], evolve(queues, steering=queues.steering[1:])
    elif queues.follow_ups:
        first, queues = queues.follow_ups[0], evolve(queues, follow_ups=queues.follow_ups[1:])
    else:
        return None
    return begin_turn(evolve(state, queues=queues), (first.message(),), Because.FOLLOW_UP_BEGINS)
