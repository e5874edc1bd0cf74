"""The reducer: ``reduce(state, event) -> (state, commands)``, total, deterministic, and without any effect.

1. An event is looked up in the table of the turn; what is not listed is rejected. Its step yields a new state, or
   says why the event is
   ignored or refused; calls it concerns are offered it by the table of the call machine.
2. Then the session *advances* to a fixed point, by rows as visible as all others.
3. The commands are the difference of outstanding work. A rejected event gives ``RecordRejection`` and the same state
   object, an ignored one
   the same object and nothing.
4. A step that breaks its promise is a defect of the core: the state stays, and the rejection says so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import attrs

from agentcore.commands import Command, RecordRejection
from agentcore.events import EVENTS, HOST_EVENTS, AbortRequested, Event, SessionResumed, TimerFired
from agentcore.evolve import evolve
from agentcore.messages import find_result
from agentcore.outstanding import difference, outstanding
from agentcore.policy import Config, ToolContract
from agentcore.rejections import Blame, Rejection, RejectionCode
from agentcore.states import Because, Call, Idle, Run, Settled, State, Stopping, Tries
from agentcore.steps.base import find_call, own_calls, why
from agentcore.steps.batch import absorb
from agentcore.steps.storage import order_checkpoint
from agentcore.steps.timers import keep_clock
from agentcore.steps.verdicts import Advance, Ignored, Refused, StopEntered, TimePassed
from agentcore.table import TABLES, Kind, Row, Tables

MOVES_MAX = 100
"""Moves after one event beyond which ``advance`` counts as not settling: a batch cannot have more calls than that to
release."""


class Reduction(NamedTuple):
    """What ``start`` and ``reduce`` return."""

    state: State
    """The session now."""
    commands: tuple[Command, ...]
    """What is newly ordered, in order."""


class Verdict(StrEnum):
    """What became of an event (D-30)."""

    ACCEPTED = "accepted"
    IGNORED = "ignored"
    REJECTED = "rejected"


@attrs.frozen
class Judgement:
    """A reduction with its reasons: what a log line, the matrix and the explorer read."""

    verdict: Verdict
    """Accepted, ignored or rejected."""
    reduction: Reduction
    """State and commands."""
    reason: str = ""
    """Why it was ignored, or the code of the rejection."""
    rejection: Rejection | None = None
    """The rejection, if it is one."""
    rows: tuple[Row, ...] = ()
    """Rows taken, in order."""
    hops: tuple[Because, ...] = ()
    """Moves made by ``advance``, in order."""


_KINDS = frozenset(EVENTS)
"""Classes of all events, to know one at once."""

_OF_HOSTS = frozenset(HOST_EVENTS)

_BEFORE_TIME = (AbortRequested, SessionResumed)
"""Events that come before the turn's time is looked at."""


class _DefectError(Exception):
    """A step broke the promise of its row."""


class _Pass:
    """One run through the tables: collects which rows were taken."""

    __slots__ = ("_counted", "hops", "met", "rows", "tables")

    def __init__(self, tables: _Lookup, state: State) -> None:
        self.tables = tables
        self.met = state
        self.rows: list[Row] = []
        self.hops: list[Because] = []
        self._counted = False

    def counted(self, state: State, event: Event) -> State:
        """Count an event, once: steps see it counted, and what the tables alone refuse is not worth a new state."""
        if self._counted:
            return state
        self._counted = True
        # A resume measures the dead time itself, from the last time that was seen.
        at = state.at if isinstance(event, SessionResumed) else max(state.at, event.at)
        return evolve(state, seq=state.seq + 1, at=at)

    def accept(self, state: State, event: Event) -> State | Ignored | Refused:
        """Run the row of an event."""
        row = self.tables.turn.get((type(state.phase), type(event)))
        if row is None:
            return _unlisted(event)
        self.rows.append(row)
        if row.answered_by_call:
            return self._answered(state, event, row)
        if row.step is None:
            return Ignored(str(row.because))
        state = self.counted(state, event)
        after = row.step(state, event)
        if not isinstance(after, State):
            return _verdict(after)
        _check(row, type(after.phase))
        offered = self._offer(after, event, row.offers(state, event) if row.offers is not None else ())
        return self._stopped(state, offered)

    def _answered(self, state: State, event: Event, row: Row) -> State | Ignored | Refused:
        """Let the one call an event names decide about it."""
        call_id: str = row.offers(state, event)[0] if row.offers is not None else ""
        call = find_call(state, call_id) or _written_call(state, call_id)
        if call is None:
            return Refused(RejectionCode.FOREIGN_CALL, _sender(event), call_id)
        act_id = getattr(event, "act_id", "")
        if act_id and act_id in state.acts:
            return Ignored("act-known")
        state = self.counted(state, event)
        after = self._step_call(state, call, event)
        if not isinstance(after, Call):
            return after
        state = evolve(state, acts=state.acts.add(act_id)) if act_id else state
        return absorb(state, call, after, event)

    def _step_call(self, state: State, call: Call, event: Any) -> Call | Ignored | Refused:
        row = self.tables.call.get((type(call.state), type(event)))
        if row is None:
            return Refused(RejectionCode.NOT_EXPECTED_HERE, _sender(event), call.call_id)
        self.rows.append(row)
        if row.step is None:
            return Ignored(str(row.because))
        after = row.step(state, call, event)
        if isinstance(after, Call):
            _check(row, type(after.state))
            return after
        return _verdict(after)

    def _offer(self, state: State, event: Any, call_ids: tuple[str, ...]) -> State:
        """Offer an event to calls; one that has nothing to say to it stays as it is."""
        for call_id in call_ids:
            call = find_call(state, call_id)
            if call is None or (type(call.state), type(event)) not in self.tables.call:
                continue
            after = self._step_call(state, call, event)
            if isinstance(after, Call):
                state = absorb(state, call, after, event)
        return state

    def _stopped(self, before: State, after: State) -> State:
        """Tell the calls of a turn that has just entered ``Stopping``."""
        if not isinstance(after.phase, Stopping) or isinstance(before.phase, Stopping):
            return after
        return self._offer(after, StopEntered(), own_calls(after))

    def look_at_time(self, state: State, event: Event) -> State:
        """End a turn whose time is up before the event is looked at: an abort comes first, then time, then the rest."""
        if state.turn.due_at is None or isinstance(event, _BEFORE_TIME) or _is_turn_timer(event):
            return state
        row = self.tables.turn.get((type(state.phase), TimePassed))
        state = self.counted(state, event)
        after = row.step(state) if row is not None and row.step is not None else None
        return state if row is None or after is None else self._moved(state, after, row)

    def advance(self, state: State) -> State:
        """Go as far as the session can by itself."""
        calls = len(state.batch.calls) if state.batch is not None else 0
        for _ in range(MOVES_MAX + calls):
            after = self._move(state)
            if after is None:
                return state
            state = after
        raise _DefectError("advance does not settle")

    def _move(self, state: State) -> State | None:
        for row in self.tables.moves.get(type(state.phase), ()):
            after = row.step(state) if row.step is not None else None
            if after is not None:
                return self._moved(state, after, row)
        return None

    def _moved(self, state: State, after: State, row: Row) -> State:
        _check(row, type(after.phase))
        self.rows.append(row)
        moved = self._offer(after, Advance(), row.offers(state) if row.offers is not None else ())
        moved = self._stopped(state, moved)
        self._note(state, moved, row)
        return moved

    def _note(self, before: State, after: State, row: Row) -> None:
        """Keep the move's name and what its step did on the way, each once in a row."""
        own = after.phase.transition.hops if type(after.phase) is not type(before.phase) else ()
        for hop in (Because(row.because), *own):
            if not self.hops or self.hops[-1] is not hop:
                self.hops.append(hop)


class _Lookup:
    """The tables, indexed."""

    def __init__(self, tables: Tables) -> None:
        self.turn = {(row.source, row.event): row for row in tables.turn if row.event is not Advance}
        self.call = {(row.source, row.event): row for row in tables.call}
        self.moves: dict[type[Any], tuple[Row, ...]] = {}
        for row in tables.turn:
            if row.event is Advance:
                self.moves[row.source] = (*self.moves.get(row.source, ()), row)
        self.legal_in_turn = _legal(tables.turn)
        self.legal_of_call = _legal(tables.call)


def _legal(table: tuple[Row, ...]) -> dict[type[Any], tuple[str, ...]]:
    """Name for each source the events that a table can accept there, so that no rejection walks through the table."""
    found: dict[type[Any], dict[str, None]] = {}
    for row in table:
        if row.kind is Kind.STEP and row.event in EVENTS:
            found.setdefault(row.source, {})[row.event.__name__] = None
    return {source: tuple(names) for source, names in found.items()}


class Reducer:
    """A reducer made from tables; call it, or ``examine`` an event to see the reasons too."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._lookup = _Lookup(tables)

    def __call__(self, state: State, event: Event) -> Reduction:
        """Return the state after an event, and what is newly ordered."""
        return self.examine(state, event).reduction

    def examine(self, state: State, event: Event) -> Judgement:
        """Reduce, and say which rows were taken and why; ``TypeError`` for a value that is no event."""
        if type(event) not in _KINDS and not isinstance(event, EVENTS):
            raise TypeError(f"{type(event).__name__} is no event of agentcore.events")
        run = _Pass(self._lookup, state)
        try:
            judged = self._run(run, state, event)
        except Exception as error:  # noqa: BLE001 - whatever breaks in a step is a defect to be reported, never raised (L1)
            judged = Refused(RejectionCode.CORE_DEFECT, Blame.CORE, advice=f"{type(error).__name__}: {error}")
        if isinstance(judged, Ignored):
            return Judgement(Verdict.IGNORED, Reduction(state, ()), judged.because, rows=tuple(run.rows))
        if isinstance(judged, Refused):
            return self._rejected(state, event, judged, run)
        before = () if isinstance(event, SessionResumed) else outstanding(state)
        commands = difference(before, outstanding(judged))
        return Judgement(Verdict.ACCEPTED, Reduction(judged, commands), rows=tuple(run.rows), hops=tuple(run.hops))

    def _run(self, run: _Pass, state: State, event: Event) -> State | Ignored | Refused:
        before = run.met = run.look_at_time(state, event)
        after = run.accept(before, event)
        if not isinstance(after, State):
            return after
        if after.phase.transition is not before.phase.transition:
            run.hops.extend(after.phase.transition.hops)
        after = run.advance(after)
        if run.hops:
            phase = after.phase
            after = evolve(after, phase=evolve(phase, transition=evolve(phase.transition, hops=tuple(run.hops))))
        return keep_clock(order_checkpoint(after))

    def _rejected(self, state: State, event: Event, refused: Refused, run: _Pass) -> Judgement:
        met = run.met  # Where the turn's time is up, what the event met is no longer the state that it leaves as it is.
        call = find_call(met, getattr(event, "call_id", ""))
        rejection = Rejection(
            code=refused.code,
            blame=refused.blame,
            state=type(call.state).__name__ if call is not None else type(met.phase).__name__,
            event=type(event).__name__,
            offending=refused.offending,
            legal=self.legal_events(met, call),
            advice=refused.advice,
        )
        reduction = Reduction(state, (RecordRejection(rejection, event.at),))
        return Judgement(Verdict.REJECTED, reduction, refused.code.value, rejection, tuple(run.rows))

    def legal_events(self, state: State, call: Call | None = None) -> tuple[str, ...]:
        """Name the events that the table of the machine in question can accept here."""
        if call is not None:
            return self._lookup.legal_of_call.get(type(call.state), ())
        return self._lookup.legal_in_turn.get(type(state.phase), ())


def make_reduce(tables: Tables) -> Reducer:
    """Build a reducer from tables, so that a broken table can be driven as well."""
    return Reducer(tables)


reduce = make_reduce(TABLES)
"""The reducer of this protocol."""


def start(session_id: str, config: Config, at: int) -> Reduction:
    """Begin a session: ``Idle``, with nothing outstanding. The arguments are the journal's header."""
    state = State(session_id, config, Idle(why(Because.SESSION_STARTED)), at=at)
    return Reduction(state, outstanding(state))


def _unlisted(event: Event) -> Refused:
    return Refused(RejectionCode.NOT_EXPECTED_HERE, _sender(event))


def _sender(event: Event) -> Blame:
    return Blame.HOST if type(event) in _OF_HOSTS else Blame.WORLD


def _verdict(value: object) -> Ignored | Refused:
    if isinstance(value, Ignored | Refused):
        return value
    raise _DefectError(f"a step returned {type(value).__name__}")


def _is_turn_timer(event: Event) -> bool:
    return isinstance(event, TimerFired) and event.timer_id.startswith("turn/")


def _check(row: Row, target: type[Any]) -> None:
    """Hold a step to the targets its row declares."""
    if target not in row.to:
        raise _DefectError(f"{row.name} may not lead to {target.__name__}")


def _written_call(state: State, call_id: str) -> Call | None:
    """Rebuild a call whose result stands in history, so that what is said of it again is judged by the same rows."""
    result = find_result(state.history, call_id)
    if result is None:
        return None
    run = Run(result.epoch, result.attempt, 0, 0) if result.attempt else None
    return Call(
        call_id,
        result.provider_id,
        result.name,
        raw_arguments=result.arguments,
        proposed=result.arguments,
        arguments=result.arguments,
        contract=state.config.tool(result.name) or ToolContract(result.name or "unnamed"),
        state=Settled(why(Because.RESULTS_APPENDED), result.outcome, run),
        tries=Tries(executions=result.attempt),
    )
