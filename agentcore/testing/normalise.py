"""When two situations are the same for all that can follow: the key under which the explorer merges them.

The reducer never saturates a counter; what is alike is found here. A state becomes a tuple in which

1. why a state was entered, texts and other evidence that no step reads are left out;
2. positions in the journal are ranked above what is durable: steps compare them with it and with each other, no more;
3. a number that mints keys is kept as none, one or more: of the next one only matters that it is greater. A number that
   names an attempt is kept as its distance from the one minted last;
4. times are left out, unless an effect or the turn has a time of its own: then each is taken from now;
5. what was consumed is left out unless it is limited.

``FIELDS`` lists every field that was thought about; a test fails when a class has another one. That merging is sound
is tested besides: explored with and without it, small explorations reach the same phases, call states and verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcore.messages import AssistantMessage, History, IdSet, Message, UserMessage
from agentcore.policy import Config, Effect
from agentcore.states import (
    AwaitingApproval,
    AwaitingRetry,
    Batch,
    Call,
    Cancel,
    CancellationRequested,
    EffectUnknown,
    Ending,
    Executing,
    Inquiry,
    Preparing,
    Queues,
    Ready,
    Released,
    Request,
    ReviewingCompletion,
    Run,
    Saving,
    Settled,
    State,
    Stopping,
    Storage,
    Tries,
    Turn,
    Window,
)
from agentcore.testing.world import World, matters

Key = tuple[Any, ...]
"""Something hashable that stands for something larger."""

FIELDS: Mapping[type[Any], str] = {
    State: "session_id config phase epoch seq at turn turns history window queues known acts register storage usage",
    Turn: "number step steps started_at due_at left_ms clocks preparations requests compactions reviews nudges "
    "counters usage context_tokens round stop_after_step",
    Storage: "durable wanted in_flight attempt failures retry_at barrier",
    Queues: "steering follow_ups notices",
    Window: "start summary media_to",
    Batch: "request_id message calls truncated",
    Call: "call_id provider_id name raw_arguments arguments contract state digest tries grant question rule unproved "
    "voided heard counted aborted reviewed_in registered proposed",
    Tries: "reviews questions executions cancels inspections inspections_used asks_used retries_used observations_used "
    "changes_used",
    Run: "epoch attempt seq released_at due_at covered_at started resumed handle observation",
    Cancel: "attempt grace_at",
    Inquiry: "by attempt resume_at ordered_at",
    EffectUnknown: "transition run inquiry live cancel proved_absent rechecked reports",
    AwaitingApproval: "transition due_at rule reason",
    CancellationRequested: "transition run cancel",
    Executing: "transition run",
    Released: "transition run",
    Ready: "transition",
    Settled: "transition outcome run",
    Request: "request_id attempt due_at",
    Ending: "reason loop rule message warning evidence",
    Preparing: "transition request_id ordered prepared",
    AwaitingRetry: "transition request_id due_at jitter_max_ms",
    ReviewingCompletion: "transition request_id ending awaits_tasks",
    Stopping: "transition ending request batch quiet",
    Saving: "transition ending seq",
}
"""Every field of these classes that was thought about."""

_MEMO_MAX = 50_000
"""Parts whose keys are remembered at once."""


def is_timed(config: Config) -> bool:
    """Say whether something under a configuration depends on how much time has passed."""
    return config.limits.turn_ms is not None or any(tool.effect is Effect.INSPECTABLE for tool in config.tools)


def few(number: int) -> int:
    """Keep of a number whether it is none, one or more."""
    return min(number, 2)


class Normaliser:
    """Makes keys; remembers those of parts that states share."""

    def __init__(self, *, timed: bool) -> None:
        self.timed = timed
        """Whether something depends on how much time has passed."""
        self._memo: dict[int, tuple[Any, Key]] = {}
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Return a small number that stands for a hashable value, the same for equal ones."""
        return self._numbers.setdefault(value, len(self._numbers))

    def key(self, state: State, now: int) -> int:
        """Return a number that is equal for states that are the same for all that can follow.

        It is a hash of 64 bits: among a million states the chance that any two share one by accident is below 1e-6.
        """
        if len(self._memo) > _MEMO_MAX:
            self._memo.clear()
        phase = state.phase
        return hash(
            (
                type(phase),
                self._phase(state, now),
                state.epoch,
                self._turn(state, now),
                self._kept(state.history, _history),
                self._kept(state.queues, _queues),
                self._kept(state.known, _known),
                self._kept(state.acts, _known),
                state.turns,
                self._kept(state.config, _one),
                (state.window.start, state.window.summary, state.window.media_to),
                tuple(self._call(call, state, now) for call in state.register),
                self._storage(state, now),
            )
        )

    def world_key(self, world: World, state: State) -> Key:
        """Return what of the world can still matter; attempts are named by their distance from the last one."""
        if not world.attempts:
            return ()
        return tuple(
            (
                each.call_id,
                state.epoch - each.epoch,
                each.attempt,
                each.deed,
                each.excused,
                None if each.acts_until is None else max(0, each.acts_until - world.now),
            )
            for each in world.attempts
            if matters(world, state, each)
        )

    def _kept(self, part: Any, make: Any) -> Key:
        """Return the key of a part that many states share."""
        found = self._memo.get(id(part))
        if found is not None and found[0] is part:
            return found[1]
        key: Key = (self.number(make(part)),)
        self._memo[id(part)] = (part, key)
        return key

    def _due(self, due_at: int | None, now: int) -> Any:
        """Keep of a due time that there is one, or how far off it is."""
        return due_at is not None if not self.timed or due_at is None else max(0, due_at - now)

    def _turn(self, state: State, now: int) -> Key:
        turn, limits = state.turn, state.config.limits
        counted = limits.tokens is not None or limits.cost_micros is not None
        return (
            turn.number,
            turn.step,
            turn.steps,
            self._due(turn.due_at, now),
            turn.left_ms if self.timed else turn.left_ms is not None,
            few(turn.clocks),
            few(turn.preparations),
            few(turn.requests),
            few(turn.compactions),
            few(turn.reviews),
            turn.nudges,
            self._kept(turn.counters, _one),
            turn.usage if counted else None,
            turn.context_tokens if limits.compact_at_tokens is not None else None,
            turn.round,
            turn.stop_after_step,
        )

    def _phase(self, state: State, now: int) -> Key:
        match state.phase:
            case Preparing(request_id=request_id, ordered=ordered, prepared=prepared):
                return (request_id, ordered, prepared)
            case AwaitingRetry(due_at=due_at):
                return (self._due(due_at, now),)
            case ReviewingCompletion(ending=ending, awaits_tasks=awaits_tasks):
                return (ending.reason, ending.loop, awaits_tasks)
            case Stopping(ending=ending, request=request, batch=batch, quiet=quiet):
                waiting = request is not None and self._due(request.due_at, now)
                return (ending.reason, request is not None, waiting, quiet, self._batch(batch, state, now))
            case phase:
                ended: Any = getattr(phase, "ending", None)
                asked: Any = getattr(phase, "request", None)
                due = asked is not None and self._due(asked.due_at, now)
                end = (ended.reason, ended.loop, getattr(phase, "unsaved", False)) if ended is not None else ()
                return (end, due, getattr(phase, "purpose", ""), self._batch(state.batch, state, now))

    def _batch(self, batch: Batch | None, state: State, now: int) -> Key:
        if batch is None:
            return ()
        said = self._kept(batch.message, _message)
        return (said, batch.truncated, *(self._call(call, state, now) for call in batch.calls))

    def _call(self, call: Call, state: State, now: int) -> Key:
        if self.timed:
            return self._call_key(call, state.epoch, now)
        found = self._memo.get(id(call))
        if found is not None and found[0] is call and found[1][0] == state.epoch:
            return found[1]
        key = (state.epoch, self.number(self._call_key(call, state.epoch, now)))
        self._memo[id(call)] = (call, key)
        return key

    def _call_key(self, call: Call, epoch: int, now: int) -> Key:
        tries, grant, question = call.tries, call.grant, call.question
        return (
            call.call_id,
            call.name,
            call.arguments,
            call.proposed,
            call.digest,
            type(call.state),
            self._call_state(call, epoch, now),
            tuple(map(few, (tries.reviews, tries.questions, tries.executions, tries.cancels, tries.inspections))),
            (tries.inspections_used, tries.asks_used, tries.retries_used, tries.observations_used, tries.changes_used),
            grant.digest if grant is not None else None,
            (question.digest, self._due(question.due_at, now)) if question is not None else None,
            tuple(self._run(run, call, epoch, now) for run in call.unproved),
            tuple(self._run(run, call, epoch, now) for run in call.voided),
            call.counted,
            call.aborted,
            call.reviewed_in == epoch,
            call.heard,
            call.registered,
            call.contract.effect,
        )

    def _call_state(self, call: Call, epoch: int, now: int) -> Key:
        match call.state:
            case AwaitingApproval(due_at=due_at):
                return (self._due(due_at, now),)
            case Released(run=run) | Executing(run=run):
                return self._run(run, call, epoch, now)
            case CancellationRequested(run=run, cancel=cancel):
                return (*self._run(run, call, epoch, now), *self._cancel(cancel, call, now))
            case EffectUnknown() as unknown:
                inquiry, order = unknown.inquiry, unknown.cancel
                return (
                    self._run(unknown.run, call, epoch, now),
                    (inquiry.by, call.tries.inspections - inquiry.attempt, self._due(inquiry.resume_at, now)),
                    self._late(call, inquiry.ordered_at, unknown.run),
                    unknown.live,
                    self._cancel(order, call, now) if order is not None else None,
                    unknown.run.resumed,
                    unknown.proved_absent is not None,
                    unknown.rechecked,
                    tuple(
                        (epoch - each.epoch, call.tries.executions - each.attempt, each.said)
                        for each in unknown.reports
                    ),
                )
            case Settled(outcome=outcome, run=run):
                return (outcome, self._run(run, call, epoch, now) if run is not None else None)
            case _:
                return ()

    def _run(self, run: Run, call: Call, epoch: int, now: int) -> Key:
        attempt = call.tries.executions - run.attempt
        seen = (run.started, run.resumed, run.handle, run.observation)
        return (epoch - run.epoch, attempt, self._due(run.due_at, now), self._late(call, now, run), *seen)

    def _late(self, call: Call, at: int, run: Run) -> int | None:
        """Return how far a time lies behind the covering, as far as that decides whether an attempt can still act."""
        if run.covered_at is None:
            return None
        return min(at - run.covered_at, call.contract.acts_within_ms or 0) if self.timed else 0

    def _cancel(self, cancel: Cancel, call: Call, now: int) -> Key:
        return (call.tries.cancels - cancel.attempt, self._due(cancel.grace_at, now))

    def _storage(self, state: State, now: int) -> Key:
        """Rank every position that is not durable yet; of those that are, nothing matters any more."""
        storage, phase = state.storage, state.phase
        positions = [storage.wanted, storage.in_flight or 0, storage.barrier, getattr(phase, "seq", 0)]
        if state.batch is not None:
            positions += [call.state.run.seq for call in state.batch.calls if isinstance(call.state, Released)]
        ahead = sorted({position for position in positions if position > storage.durable})
        ranks = tuple(ahead.index(position) + 1 if position > storage.durable else 0 for position in positions)
        retry = self._due(storage.retry_at, now)
        return (*ranks, storage.in_flight is not None, few(storage.attempt), storage.failures, retry)


def _history(history: History) -> Key:
    return tuple(_message(message) for message in history)


def _message(message: Message) -> Key:
    match message:
        case UserMessage(message_id=message_id, source=source):
            return (_anonymous(message_id), source)
        case AssistantMessage() as said:
            return (said.request_id, said.epoch, said.attempt, said.finish, said.interrupted, said.parts)
    return tuple((result.call_id, result.outcome, result.epoch, result.attempt) for result in message.results)


def _queues(queues: Queues) -> Key:
    return tuple(
        tuple(_anonymous(queued.message_id) for queued in waiting)
        for waiting in (queues.steering, queues.follow_ups, queues.notices)
    )


def _anonymous(message_id: str) -> str:
    """Take the position in the journal off the id of a notice, which is there to make it unique."""
    return message_id.rpartition("/")[0] if message_id.startswith("notice/") else message_id


def _known(known: IdSet) -> Key:
    return (frozenset().union(*known.levels),)


def _one(value: Any) -> Key:
    return (value,)
