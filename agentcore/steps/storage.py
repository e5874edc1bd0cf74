"""What is durable: one checkpoint at a time, for the newest event; its answer brings the next if one is wanted.

Only a release, an import and the turn's end wait for a checkpoint. One that fails before an execution blocks it; one
that fails after keeps the evidence. Past the bound nothing new is started and the turn ends, saved or not (R-192).
"""

from __future__ import annotations

from agentcore.events import CheckpointFailed, CheckpointWritten
from agentcore.evolve import evolve
from agentcore.limits import allows, doubled
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import ENDS, WORKING, Because, Ending, Preparing, Saving, State, Stopping, StopReason
from agentcore.steps.base import in_phase, why
from agentcore.steps.ending import add_evidence, enter_end, stop_turn
from agentcore.steps.verdicts import Ignored, Refused, stale


def order_checkpoint(state: State) -> State:
    """Order the next checkpoint if one is wanted and none is under way."""
    storage = state.storage
    # A step that waits for a mended import wants it saved, whatever became of earlier tries.
    wanted = max(storage.wanted, storage.barrier) if isinstance(state.phase, Preparing) else storage.wanted
    if storage.in_flight is not None or storage.retry_at is not None or wanted <= storage.durable:
        return state
    return evolve(state, storage=evolve(storage, in_flight=state.seq, attempt=storage.attempt + 1))


def _misdirected(state: State, event: CheckpointWritten | CheckpointFailed) -> Ignored | Refused | None:
    storage = state.storage
    if (event.seq, event.epoch, event.attempt) == (storage.in_flight, state.epoch, storage.attempt):
        return None
    name = f"{event.seq}#{event.epoch}.{event.attempt}"
    if (event.epoch, event.attempt) > (state.epoch, storage.attempt) or event.seq >= state.seq:
        return Refused(RejectionCode.FOREIGN_CHECKPOINT, Blame.WORLD, name)
    if isinstance(event, CheckpointWritten) and event.seq <= storage.durable:
        return Ignored("already-durable")
    return stale(RejectionCode.STALE_ATTEMPT, name)


def write_checkpoint(state: State, event: CheckpointWritten) -> State | Ignored | Refused:
    """Take what is durable; releases it covers are started, an unsaved end it covers is saved."""
    if verdict := _misdirected(state, event):
        return verdict
    storage = evolve(state.storage, durable=event.seq, in_flight=None, failures=0)
    state = evolve(state, storage=storage)
    phase = state.phase
    if isinstance(phase, ENDS) and phase.unsaved and phase.seq <= event.seq:
        return in_phase(state, evolve(phase, unsaved=False))
    return state


def fail_checkpoint(state: State, event: CheckpointFailed) -> State | Ignored | Refused:
    """Try again after a delay; past the bound start nothing further and end the turn."""
    if verdict := _misdirected(state, event):
        return verdict
    limits, storage = state.config.limits, state.storage
    storage = evolve(storage, in_flight=None, failures=storage.failures + 1)
    if allows(limits.checkpoint_retries, storage.failures - 1):
        delay_ms = doubled(limits.checkpoint_base_ms, storage.failures - 1, 60_000)
        return evolve(state, storage=evolve(storage, retry_at=state.at + delay_ms))
    return _give_up(evolve(state, storage=evolve(storage, wanted=storage.durable)), event.reason)


def _give_up(state: State, reason: str) -> State:
    """Stop waiting for the store: a turn at work ends, an end is entered unsaved, everything else stays."""
    phase = state.phase
    facts = (("cause", "checkpoint-failed"), ("reason", reason))
    if isinstance(phase, WORKING):
        return stop_turn(state, add_evidence(Ending(StopReason.STORAGE, message=reason), *facts))
    if isinstance(phase, Stopping):
        ending = add_evidence(phase.ending, *facts)
        return in_phase(state, evolve(phase, transition=why(Because.STOP_CONTINUES, *facts), ending=ending))
    if isinstance(phase, Saving):
        saving = evolve(phase, ending=add_evidence(phase.ending, *facts))
        return enter_end(state, saving, Because.END_UNSAVED, unsaved=True)
    return state
