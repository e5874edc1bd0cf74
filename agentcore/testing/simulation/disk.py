"""A disk that keeps a journal: it loses what was not synced, breaks a line in two, and rots.

What comes back is read from bytes by the real codec, never from what a test remembers.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from agentcore import events
from agentcore.codec import Header
from agentcore.events import DamageKind, Event, Recovery, SessionResumed, Suspect
from agentcore.messages import ToolCallPart, step_of
from agentcore.policy import Config
from agentcore.states import State
from agentcore.testing.core import Core
from agentcore.testing.lines import Found, event_line, opening_line, read

SNAPSHOT_EVERY = 8
"""Events after which a checkpoint writes a snapshot, too."""


@attrs.frozen
class Restored:
    """What was read from the disk."""

    state: State
    """The session, as the header, the newest usable snapshot and the events behind it give it."""
    recovery: Recovery
    """What was found."""


class Disk:
    """The journal of one session as bytes, and how much of it a crash cannot take."""

    def __init__(self, core: Core, session_id: str, config: Config, at: int) -> None:
        """Begin a journal; its header is durable at once."""
        self._core = core
        header = core.codec.encode_header(Header(session_id, config, at))
        self._opening = opening_line(session_id, header)
        self._lines: list[bytes] = []
        self._torn = b""
        self._snapshots: list[tuple[int, bytes]] = []
        self.synced = 0
        """The last event that no crash can lose."""

    def __len__(self) -> int:
        """Return how many events were written."""
        return len(self._lines)

    def append(self, event: Event) -> None:
        """Write one event; it is in the page cache, not durable."""
        self._lines.append(event_line(len(self._lines) + 1, self._core.codec.encode_event(event)))

    def sync(self, upto: int | None = None) -> None:
        """Make everything durable, or only the first so many events, for a sync that broke off."""
        self.synced = max(self.synced, len(self._lines) if upto is None else min(upto, len(self._lines)))

    def snapshot(self, state: State) -> None:
        """Keep a state beside the journal, if the last one is old enough."""
        if (
            state.seq <= self.synced
            and state.seq - max((seq for seq, _ in self._snapshots), default=0) >= SNAPSHOT_EVERY
        ):
            self._snapshots.append((state.seq, self._core.codec.encode_state(state)))

    def crash(self, keeps: int, *, torn: bool) -> None:
        """Lose every event beyond the first ``keeps``; of the next one a piece may be left, if it was torn."""
        assert self.synced <= keeps <= len(self._lines), "a crash takes nothing that is durable"
        lost = self._lines[keeps:]
        self._torn = lost[0][: len(lost[0]) // 2] if torn and lost else b""
        del self._lines[keeps:]

    def rot(self, seq: int) -> None:
        """Let one byte of an event's line change, durable or not."""
        line = self._lines[seq - 1]
        half = len(line) // 2
        self._lines[seq - 1] = line[:half] + bytes((line[half] ^ 1,)) + line[half + 1 :]

    def restore(self, accepted_by: str = "") -> Restored:
        """Read the session from the bytes; what lies behind damage is set aside for good.

        Raises ``AssertionError`` where an event that was accepted and written is not accepted again.
        """
        data = b"".join((self._opening, *self._lines, self._torn))
        reading, codec = read(data), self._core.codec
        header = codec.decode_header(reading.header)
        keeps = len(reading.events)
        self._snapshots = [kept for kept in self._snapshots if kept[0] <= keeps]
        if self._snapshots:
            state = codec.decode_state(self._snapshots[-1][1])
        else:
            state = self._core.start(header.session_id, header.config, header.at).state
        for payload in reading.events[state.seq :]:
            event, seq = codec.decode_event(payload), state.seq
            state = self._core.reduce(state, event).state
            assert state.seq == seq + 1, f"event {seq + 1}, {type(event).__name__}, was written and is not accepted"
        behind = tuple(codec.decode_event(payload) for payload in reading.behind)
        self._torn = b""
        del self._lines[keeps:]
        self.synced = min(self.synced, keeps)
        return Restored(state, recovery_of(reading.found, behind, state, accepted_by))


def recovery_of(found: Found, behind: tuple[Event, ...], state: State, accepted_by: str) -> Recovery:
    """Say what was found in the words of the core, with the calls that unreadable history may have started.

    The line that cannot be read may have been anything: a resume, or the permission of a call that stands in the state.
    """
    turn, step = max(map(_step_named, behind), default=(0, 0))
    damage = {Found.TORN_TAIL: DamageKind.TORN_TAIL, Found.MIDDLE: DamageKind.MIDDLE}.get(found)
    return Recovery(
        last_seq=state.seq,
        damage=damage,
        gap_accepted_by=accepted_by if found is Found.MIDDLE else "",
        suspects=tuple(_suspects(behind, state)) if found is Found.MIDDLE else (),
        last_turn=turn,
        last_step=step,
        last_epoch=_last_epoch(behind, state) + (1 if found is Found.MIDDLE else 0),
    )


def _suspects(behind: Iterable[Event], state: State) -> Iterable[Suspect]:
    """Yield every call that has no answer yet, or of which events behind a damage speak: each may have been started."""
    known = state.batch.calls if state.batch is not None else ()
    names = {call.call_id: call.name for call in known}
    arguments = {call.call_id: call.arguments for call in known}
    for event in behind:
        if isinstance(event, events.ModelReplied):
            names |= {f"{event.request_id}.{place}": name for place, name in enumerate(_called(event))}
        elif isinstance(event, SessionResumed):
            # A gap before this one had its suspects, too, and the register that held them is lost.
            names |= {suspect.call_id: suspect.name for suspect in event.recovery.suspects}
            arguments |= {suspect.call_id: suspect.arguments for suspect in event.recovery.suspects}
        elif step_of(getattr(event, "call_id", "").rpartition(".")[0]) is not None:
            arguments.setdefault(event.call_id, getattr(event, "arguments", "{}"))  # type: ignore[union-attr]  # it has one
    for call_id, said in arguments.items():
        yield Suspect(call_id=call_id, name=names.get(call_id, ""), arguments=said)


def _called(reply: events.ModelReplied) -> Iterable[str]:
    """Yield the tools of a reply's calls; the second call of one provider id does not count."""
    seen: set[str] = set()
    for part in reply.parts:
        if isinstance(part, ToolCallPart) and not part.provider_executed and part.provider_id not in seen:
            seen |= {part.provider_id} - {""}
            yield part.name


def _step_named(event: Event) -> tuple[int, int]:
    if isinstance(event, SessionResumed):
        return event.recovery.last_turn, event.recovery.last_step
    named = getattr(event, "request_id", "") or getattr(event, "call_id", "").rpartition(".")[0]
    return step_of(named) or (0, 0)


def _last_epoch(behind: Iterable[Event], state: State) -> int:
    epoch = state.epoch
    for event in behind:
        if isinstance(event, SessionResumed):
            epoch = max(epoch, event.recovery.last_epoch) + 1
        epoch = max(epoch, getattr(event, "epoch", 0))
    return epoch
