"""What is so after the demonstration, read from the disk: the journal, the ledger, and how the processes ended."""

from __future__ import annotations

import signal

import attrs

from agentcore import reduce, start
from agentcore.codec import decode_event, decode_header
from agentcore.commands import tag_of
from agentcore.events import Event
from agentcore.messages import ProvedBy, Succeeded, ToolResult
from agentcore.projections import Passage, replay
from agentcore.states import Call, Completed, EffectUnknown, State
from interpreters.cli.demo.story import SESSION, Room
from interpreters.stores import FileStore

TOOL = "add_line"
"""The tool that acts."""

_TWICE = 2


@attrs.frozen
class Claim:
    """Something the demonstration says of itself."""

    text: str
    """What."""
    true: bool
    """Whether it is so."""


@attrs.frozen
class Evidence:
    """What the disk says at one moment."""

    passages: tuple[Passage, ...]
    """The journal, folded."""
    deeds: int
    """Lines of the ledger."""

    @property
    def state(self) -> State:
        """The session."""
        return self.passages[-1].after

    @property
    def last(self) -> Event:
        """The newest event."""
        return self.passages[-1].event

    @property
    def running(self) -> Call | None:
        """The call of the acting tool in the running batch."""
        batch = self.state.batch
        return next((call for call in (batch.calls if batch else ()) if call.name == TOOL), None)

    @property
    def result(self) -> ToolResult | None:
        """What was written for the call that acts."""
        messages = [message for message in self.state.history if hasattr(message, "results")]
        return next((each for message in messages for each in message.results if each.name == TOOL), None)

    @property
    def was_unknown(self) -> bool:
        """Whether the effect was unknown at some time."""
        calls = (call for passage in self.passages if passage.after.batch for call in passage.after.batch.calls)
        return any(isinstance(call.state, EffectUnknown) for call in calls)


async def look(room: Room) -> Evidence:
    """Read everything."""
    loaded = await FileStore(room.sessions).read(SESSION, from_start=True)
    header = decode_header(loaded.header)
    begun = start(header.session_id, header.config, header.at).state
    events = (decode_event(payload) for _, payload in loaded.events)
    first = next(payload for _, payload in loaded.events)
    assert reduce(begun, decode_event(first)).state.seq == 1  # a session that was begun has a prompt
    return Evidence(tuple(replay(begun, events)), room.deeds())


def claims_of_death(status: int, found: Evidence) -> list[Claim]:
    """Return what has to be so once the first process is dead."""
    call = found.running
    return [
        Claim("the first process was killed by SIGKILL (signal 9)", status == -signal.SIGKILL),
        Claim(
            f"the journal ends with event {found.state.seq}, {tag_of(type(found.last))}, and has no outcome of {TOOL}",
            call is not None and call.run is not None and found.result is None,
        ),
        Claim("the line stands in the ledger all the same, once", found.deeds == 1),
    ]


def claims_of_life(status: int, found: Evidence, *, lied: bool) -> list[Claim]:
    """Return what has to be so once the second process has ended."""
    outcome = found.result.outcome if found.result else None
    succeeded = isinstance(outcome, Succeeded)
    ended = status == 0 and isinstance(found.state.phase, Completed)
    claims = [
        Claim(
            f"{TOOL} was unknown when the session was resumed, and was not run before it was asked about",
            found.was_unknown,
        )
    ]
    if lied:
        claims += [
            Claim("the inspection lied, so the call was run again", succeeded and _by(outcome) is ProvedBy.ATTEMPT),
            Claim("and the line stands in the ledger twice: nothing else was able to see that", found.deeds == _TWICE),
        ]
    else:
        claims += [
            Claim("an inspection found that it had happened", succeeded and _by(outcome) is ProvedBy.INSPECTION),
            Claim("the line stands in the ledger exactly once", found.deeds == 1),
        ]
    return [*claims, Claim("the turn ended with its answer", ended)]


def _by(outcome: object) -> ProvedBy | None:
    return outcome.proved_by if isinstance(outcome, Succeeded) else None
