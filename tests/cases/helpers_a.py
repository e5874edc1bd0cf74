"""What the cases share: a session that is held to the four things that hold in every case, and broken twins.

1. After every event: every call that a model is sent has its one result, directly behind and in order; nothing
   executes without a permission for exactly these arguments, nor a second time without evidence in between; an end
   stays what it is; and the journal, read back from its bytes, gives the same state and the same outstanding commands.
2. A case is a function ``check(…)``. It passes on what is shipped and is shown to fail on a broken twin: the tables
   with one row changed (``broken``), one function as it was (``patched``), or another limit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcore import TABLES, Effect, Reducer, Tables, Verdict, make_reduce, outstanding, start
from agentcore.codec import Header, decode_event, decode_header, encode_event, encode_header
from agentcore.commands import Command, ExecuteTool, RequestModel, key_of
from agentcore.events import AbortRequested, EffectInspected, EffectResolved, Event
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
    digest,
    parse_arguments,
)
from agentcore.projections import RequestView, request_messages
from agentcore.states import ENDS, Call, EffectUnknown, Ending, Phase, Saving, State, Stopping
from agentcore.table import Kind, Row
from interpreters.engine.resume import fold
from tests.core.driver import Session

# ---- broken twins


def broken(*changes: tuple[type, type, Any, tuple[type, ...]]) -> Reducer:
    """A reducer whose rows of some (state, event) pairs are others; see ``instead`` and ``without``."""
    tables = TABLES
    for source, event, step, to in changes:
        tables = Tables(_changed(tables.turn, source, event, step, to), _changed(tables.call, source, event, step, to))
    assert tables != TABLES, "the twin is the true one"
    return make_reduce(tables)


def instead(source: type, event: type, step: Any, *, to: tuple[type, ...] = ()) -> tuple[Any, ...]:
    """The row of a pair with another step; ``to`` are targets it may lead to besides those of the row."""
    return source, event, step, to


def without(source: type, event: type) -> tuple[Any, ...]:
    """No row for a pair: the event is refused, or, where it is only offered, has nothing to say."""
    return source, event, None, ()


def _changed(rows: tuple[Row, ...], source: type, event: type, step: Any, to: tuple[type, ...]) -> tuple[Row, ...]:
    kept = []
    for row in rows:
        if (row.source, row.event) != (source, event):
            kept.append(row)
        elif step is not None:
            kind = Kind.STEP if row.kind in (Kind.IGNORE, Kind.GUARD) else row.kind
            kept.append(attrs.evolve(row, step=step, kind=kind, to=(*row.to, *to), answered_by_call=False))
    return tuple(kept)


@contextmanager
def patched(*functions: tuple[Any, str, Any]):
    """Functions as they were, for the length of a block: (module or class, name, function)."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, function in functions:
            patch.setattr(owner, name, function)
        yield


def fails(check: Any, *args: Any, **options: Any) -> None:
    """A case's check has to find the broken twin out; one that cannot even be reduced is no twin."""
    with pytest.raises(AssertionError) as found:
        check(*args, **options)
    assert "core-defect" not in str(found.value)


async def fails_async(check: Any, *args: Any, **options: Any) -> None:
    """The same for a check that awaits."""
    with pytest.raises(AssertionError) as found:
        await check(*args, **options)
    assert "core-defect" not in str(found.value)


# ---- what holds in every case


class Case(Session):
    """A session that is held to the four things after every event."""

    def __init__(self, *tools: Any, **config: Any) -> None:
        super().__init__(*tools, **config)
        self.header = encode_header(Header("s", self.state.config, 0))
        self.lines: list[bytes] = []
        self.synced = 0
        self.replayed = self.folded()
        self.orders: list[Command] = []
        self.requested: list[RequestModel] = []
        self.executed: list[ExecuteTool] = []
        self.sent: list[tuple[Message, ...]] = []

    def given(self, event: Any) -> Any:
        before = self.state
        judged = super().given(event)
        if judged.verdict is Verdict.ACCEPTED:
            self.lines.append(encode_event(event))
            self.replayed = self.reduce(self.replayed, decode_event(self.lines[-1])).state
        self.orders += self.ordered
        for command in self.ordered:
            if isinstance(command, RequestModel):
                self.requested.append(command)
                self.sent.append(self.view(command.request_id).messages)
                check_sendable(self.sent[-1])
            if isinstance(command, ExecuteTool):
                self.executed.append(command)
                check_execution(self.call(command.call_id), self.state, event)
        check_end(before, self.state)
        self.check_replay()
        return judged

    @property
    def ending(self) -> Ending:
        """How the turn ended; a turn that goes on is a finding."""
        assert isinstance(self.state.phase, (*ENDS, Stopping, Saving)), f"it goes on: {self.phase.__name__}"
        return super().ending

    def check_replay(self) -> None:
        """The journal's bytes give this state and this work; they are folded line by line as they are written."""
        assert self.replayed == self.state
        assert outstanding(self.replayed) == self.work

    def folded(self) -> State:
        """Fold the journal from its bytes."""
        header = decode_header(self.header)
        state = start(header.session_id, header.config, header.at).state
        for line in self.lines:
            state = self.reduce(state, decode_event(line)).state
        return state

    def restart(self, *, lose: int = 0, dead_ms: int = 0, **changes: Any) -> None:
        """The process dies and another takes the session up; ``lose`` events at the end were never written."""
        assert lose <= self.volatile, "what is durable cannot be lost"
        if lose:
            del self.lines[-lose:]
        self.state = self.replayed = self.folded()
        self.resume(dead_ms, **changes)
        # An engine syncs a resume before it acts on it.
        self.synced = self.state.seq

    @property
    def volatile(self) -> int:
        """Events at the end that a power cut can take."""
        return self.state.seq - max(self.synced, self.state.storage.durable)

    def view(self, request_id: str = "") -> RequestView:
        """What the model is sent for a request, for the present one if none is named."""
        return request_messages(self.state, request_id or self.state.request_id)

    def count(self, kind: type, about: str = "") -> int:
        """How often a command was ordered so far, about an id if one is given."""
        return sum(isinstance(each, kind) and about in ("", key_of(each).id) for each in self.orders)

    def play(self, answer: Callable[[], Any]) -> None:
        """Answer every request alike and save what wants saving, until the turn is over."""
        while self.state.open:
            if any(isinstance(each, RequestModel) for each in self.work):
                answer()
            else:
                self.all_saved()

    def quietly(self, event: Event) -> Any:
        """Hand over an event that must change nothing; what was judged is returned."""
        before = self.state
        judged = self.given(event)
        assert judged.verdict is not Verdict.ACCEPTED, f"{type(event).__name__} was accepted"
        assert self.state is before
        return judged

    def again(self, index: int = -1) -> Any:
        """Deliver an event of the trace once more, at the present time."""
        self.now += 1
        return self.quietly(attrs.evolve(self.trace[index].event, at=self.now))


def check_sendable(messages: tuple[Message, ...]) -> None:
    """Every call has its one result directly behind it, in order; every message has something to send, calls last."""
    for position, message in enumerate(messages):
        behind = messages[position + 1] if position + 1 < len(messages) else None
        if isinstance(message, AssistantMessage):
            asked = [call.provider_id for call in message.calls]
            answered = [result.provider_id for result in behind.results] if isinstance(behind, ToolMessage) else []
            assert asked == answered, f"message {position} asks for {asked}, answered are {answered}"
            check_parts(message)
        elif isinstance(message, ToolMessage):
            before = messages[position - 1] if position else None
            assert isinstance(before, AssistantMessage), f"message {position} answers nothing"
            assert before.calls, f"message {position} answers a message without calls"


def check_parts(message: AssistantMessage) -> None:
    """No text or thinking behind a call, arguments that are one object, and something that a provider takes."""
    for call in message.calls:
        assert parse_arguments(call.arguments).state is ArgumentsState.COMPLETE, f"no object: {call.arguments!r:.80}"
        assert call.arguments.strip(), "blank arguments"
    kinds = [type(part) for part in message.parts]
    if ToolCallPart in kinds:
        behind = kinds[kinds.index(ToolCallPart) :]
        assert not {TextPart, ReasoningPart} & set(behind), f"glued: {[kind.__name__ for kind in kinds]}"
    else:
        assert message.text.strip(), f"nothing to send in {message.parts}"


def check_execution(call: Call, state: State, event: Event) -> None:
    """Permission for exactly these arguments, in this epoch; evidence between two executions of what acts."""
    assert digest(call.arguments) == call.digest, "no permission for these arguments"
    assert call.reviewed_in == state.epoch, "no permission under this configuration"
    acts = call.contract.effect not in (Effect.PURE, Effect.KEYED)
    assert not (acts and call.unproved), "executed again without evidence"
    if acts and call.tries.executions > 1:
        assert len(call.voided) == call.tries.executions - 1, "executed again without evidence"
    assert not isinstance(event, AbortRequested)


def check_end(before: State, after: State) -> None:
    """An end of a turn stays what it is; nothing that belongs to it is outstanding."""
    if isinstance(before.phase, ENDS) and before.turn.number == after.turn.number and after.phase != before.phase:
        left = not isinstance(after.phase, ENDS)
        assert left or (type(after.phase), after.phase.ending) == (type(before.phase), before.phase.ending)
    if isinstance(after.phase, (*ENDS, Stopping)):
        assert not [command for command in outstanding(after) if _asks(after.phase, command)]


def _asks(phase: Phase, command: Any) -> bool:
    stopping = isinstance(phase, Stopping) and phase.request is not None
    return isinstance(command, RequestModel) and not stopping


def unknown_state(case: Case, call_id: str = "1.1.0") -> EffectUnknown:
    """The state of a call that has to be unknown."""
    assert call_id in {**case.calls, **case.register}, f"{call_id} is over"
    state = case.call(call_id).state
    assert isinstance(state, EffectUnknown), f"{call_id} is {type(state).__name__}"
    return state


def evidence_between(case: Case, call_id: str) -> bool:
    """Whether an inspection or a person's word stands between the first and the last execution of a call."""
    events = [decode_event(line) for line in case.lines]
    return any(isinstance(each, EffectInspected | EffectResolved) and each.call_id == call_id for each in events)


# ---- messages in short


def shape(messages: Any) -> list[Any]:
    """Messages in short: a user's text, the model's text with its calls, a list of (call, outcome's class)."""
    return [_shape(message) for message in messages]


def _shape(message: Message) -> Any:
    if isinstance(message, UserMessage):
        return " ".join(part.text for part in message.parts if isinstance(part, TextPart))
    if isinstance(message, AssistantMessage):
        return (message.text, *(call.name for call in message.calls))
    return [(result.call_id, type(result.outcome).__name__) for result in message.results]


def seal(value: Any) -> str:
    """A digest of a value, to see that it stays the same."""
    return digest(repr(value))


# ---- real engines and stores


async def until_started(views: Any, call_id: str) -> None:
    """Read views until an execution of a call is recorded as begun."""
    async for shown in views:
        batch = shown.view.state.batch if shown.name == "state" else None
        calls = batch.calls if batch is not None else ()
        if any(call.call_id == call_id and call.run is not None and call.run.started for call in calls):
            return
    raise AssertionError(f"{call_id} did not start")


def crash_image(folder: Path, to: Path) -> Path:
    """What a process that dies now leaves on the disk: a copy of its files, held by nobody."""
    return Path(shutil.copytree(folder, to))


async def journalled(store: Any, session_id: str) -> list[Event]:
    """Every event that the store holds of a session, without taking its lock."""
    loaded = await store.read(session_id, from_start=True)
    return [decode_event(payload) for _, payload in loaded.events]


async def folded(store: Any, session_id: str) -> State:
    """The state that a fresh process reads."""
    return fold(await store.read(session_id, from_start=True))
