"""Taking a session up: begin a new one, or read what the store has and fold it.

Folding performs nothing: commands of the past are dropped, and ``SessionResumed`` orders what is outstanding. Lines
behind a damage are never folded; they only tell which calls may have been started, and those become suspects, and
which turn, step and epoch were reached, so that no id and no key is given a second time.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from agentcore import reduce, start
from agentcore.codec import (
    DecodeError,
    Header,
    decode_event,
    decode_header,
    decode_state,
    encode_header,
)
from agentcore.commands import Command
from agentcore.events import (
    ApprovalGranted,
    DamageKind,
    EffectInspected,
    Event,
    ModelReplied,
    PolicyAllowed,
    Recovery,
    SessionResumed,
    Suspect,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import AssistantPart, ToolCallPart, step_of
from agentcore.policy import Config
from agentcore.states import Settled, State
from interpreters.support import ports_store
from interpreters.support.ports_store import Journal, Loaded, Store


class JournalUnreadable(Exception):
    """The journal is whole, but this version cannot follow it: which event, and why."""

    def __init__(self, session_id: str, seq: int, problem: str) -> None:
        """Keep what could not be followed."""
        super().__init__(session_id, seq, problem)
        self.session_id = session_id
        """The session."""
        self.seq = seq
        """The event, 0 for the header."""
        self.problem = problem
        """What is wrong with it."""

    def __str__(self) -> str:
        what = f"event {self.seq}" if self.seq else "the header"
        return (
            f"session {self.session_id!r}: {what} cannot be followed by this version ({self.problem}). Nothing was "
            "changed; use the version that wrote it, or a newer one."
        )


@attrs.frozen
class Opened:
    """A session whose journal is open for writing."""

    journal: Journal
    """The store's handle."""
    state: State
    """Everything recorded, folded."""
    ordered: tuple[Command, ...] = ()
    """For a new session: what its start orders."""
    recovery: Recovery | None = None
    """For one that is taken up again: what the store found."""


async def begin(store: Store, session_id: str, config: Config, at: int) -> Opened:
    """Begin a session. Raises ``StoreError``."""
    journal = await store.create(session_id, encode_header(Header(session_id, config, at)))
    state, ordered = start(session_id, config, at)
    return Opened(journal, state, ordered)


async def take_up(store: Store, session_id: str, *, accept_gap: str | None = None) -> Opened:
    """Open a session and fold what it holds. Raises ``StoreError`` or ``JournalUnreadable``."""
    journal = await store.open(session_id, accept_gap=accept_gap)
    try:
        state = await _folded(store, journal.loaded)
        return Opened(journal, state, (), recovery_of(journal.loaded.recovery, state))
    except BaseException:
        await journal.close()
        raise


async def read_state(store: Store, session_id: str) -> State:
    """Return the state of a session without taking its lock. Raises ``StoreError`` or ``JournalUnreadable``."""
    return await _folded(store, await store.read(session_id))


async def _folded(store: Store, loaded: Loaded) -> State:
    """Fold from the newest snapshot; one that cannot be read costs only the time of folding from the start."""
    if loaded.snapshot is not None:
        try:
            return _fold_events(loaded, decode_state(loaded.snapshot[1]), loaded.events)
        except DecodeError:
            loaded = await store.read(loaded.session_id, from_start=True)
    return fold(loaded)


def fold(loaded: Loaded) -> State:
    """Fold a journal from its header. Raises ``JournalUnreadable``."""
    try:
        header = decode_header(loaded.header)
    except DecodeError as error:
        raise JournalUnreadable(loaded.session_id, 0, str(error)) from error
    return _fold_events(loaded, start(header.session_id, header.config, header.at).state, loaded.events)


def _fold_events(loaded: Loaded, state: State, events: Iterable[tuple[int, bytes]]) -> State:
    for seq, payload in events:
        try:
            event = decode_event(payload)
        except DecodeError as error:
            raise JournalUnreadable(loaded.session_id, seq, str(error)) from error
        state, commands = reduce(state, event)
        if state.seq != seq:
            found = commands[0] if commands else "it changes nothing"
            raise JournalUnreadable(loaded.session_id, seq, f"{type(event).__name__} is not accepted: {found}")
    return state


def recovery_of(found: ports_store.Recovery, state: State) -> Recovery:
    """Put what a store found into the words of the core, with the calls that unreadable history may have started."""
    damage, behind = found.damage, tuple(_readable(found.behind))
    # The line that cannot be read may have been anything: a resume, or the permission of a call in the state.
    gap = damage is not None and damage.kind == "middle"
    unread = int(gap) + len(found.behind) - len(behind)
    turn, step = max(map(_step_named, behind), default=(0, 0))
    kinds = {"torn-tail": DamageKind.TORN_TAIL, "middle": DamageKind.MIDDLE}
    return Recovery(
        last_seq=found.last_seq,
        damage=kinds.get(damage.kind) if damage else None,
        place=f"{damage.file}:{damage.offset}" if damage else "",
        kept_at=damage.set_aside if damage else "",
        gap_accepted_by=found.gap_accepted_by or "",
        suspects=suspects_of(behind, state, gap=gap),
        last_turn=turn,
        last_step=step,
        last_epoch=_last_epoch(behind, state) + unread if behind or gap else 0,
    )


_STARTED = (
    PolicyAllowed,
    ApprovalGranted,
    ToolStarted,
    ToolProgressed,
    ToolSucceeded,
    ToolFailed,
    ToolLost,
    ToolCancelled,
    TaskStarted,
    TaskSettled,
    EffectInspected,
)
"""What shows that a call may have been started: an allowed call is released without an event of its own."""


def suspects_of(behind: Iterable[Event], state: State, *, gap: bool = False) -> tuple[Suspect, ...]:
    """Return the calls that events behind a damage show as possibly started, in the order in which they are met.

    With a ``gap`` each call of the state that has no answer is one of them: what let it start may be what was lost, and
    the checkpoint behind it names no call. So are the suspects of an earlier gap, whose register is lost. Pure ones are
    left out: nothing they did can matter.
    """
    calls = state.batch.calls if state.batch else ()
    names = {call.call_id: call.name for call in calls}
    met: dict[str, Suspect] = {}
    if gap:
        waiting = (call for call in calls if not isinstance(call.state, Settled))
        met = {
            call.call_id: Suspect(call_id=call.call_id, name=call.name, arguments=call.arguments) for call in waiting
        }
    for event in behind:
        match event:
            case SessionResumed(recovery=recovery):
                met |= {suspect.call_id: suspect for suspect in recovery.suspects}
            case ModelReplied(request_id=request_id, parts=parts):
                names |= {f"{request_id}.{index}": name for index, name in enumerate(_called(parts))}
            case PolicyAllowed() | ApprovalGranted():
                met[event.call_id] = Suspect(
                    call_id=event.call_id, name=names.get(event.call_id, ""), arguments=event.arguments
                )
            case _ if isinstance(event, _STARTED):
                met.setdefault(event.call_id, Suspect(call_id=event.call_id, name=names.get(event.call_id, "")))
    return tuple(suspect for suspect in met.values() if not _is_pure(state.config, suspect.name))


def _step_named(event: Event) -> tuple[int, int]:
    """Return turn and step of the id that an event names, (0, 0) if it names none; a resume names those of its gap."""
    if isinstance(event, SessionResumed):
        return event.recovery.last_turn, event.recovery.last_step
    request_id = getattr(event, "request_id", "") or getattr(event, "call_id", "").rpartition(".")[0]
    return step_of(request_id) or (getattr(event, "turn", 0), 0)


def _last_epoch(behind: Iterable[Event], state: State) -> int:
    """Return the epoch in which the last event happened: answers name theirs, and each resume began another."""
    epoch = state.epoch
    for event in behind:
        if isinstance(event, SessionResumed):
            epoch = max(epoch, event.recovery.last_epoch) + 1
        else:
            epoch = max(epoch, getattr(event, "epoch", 0))
    return epoch


def _called(parts: Iterable[AssistantPart]) -> list[str]:
    """Return the tools of a reply's calls; as in the core, the second call of one provider id does not count (G-2)."""
    seen: set[str] = set()
    names: list[str] = []
    for part in parts:
        if isinstance(part, ToolCallPart) and not part.provider_executed and part.provider_id not in seen:
            seen |= {part.provider_id} - {""}
            names.append(part.name)
    return names


def _readable(lines: Iterable[bytes]) -> Iterable[Event]:
    """Decode what can be decoded; a line that cannot be read says nothing."""
    for line in lines:
        try:
            yield decode_event(line)
        except DecodeError:
            continue


def _is_pure(config: Config, name: str) -> bool:
    contract = config.tool(name)
    return contract is not None and contract.pure
