"""What is recorded: the list of sessions, a conversation, every transition, every call. Nothing here takes a lock."""

from __future__ import annotations

import datetime as dt
import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import anyio
import attrs

from agentcore import reduce, start
from agentcore.codec import DecodeError, decode_event, decode_header
from agentcore.commands import tag_of
from agentcore.events import Event
from agentcore.messages import DeniedCall
from agentcore.projections import AuditRecord, Said, audit, explain_end, replay, transcript, ui_status
from agentcore.states import State
from interpreters.cli.exits import Exit
from interpreters.cli.output import Output
from interpreters.cli.settings import read_settings, sessions_place
from interpreters.engine import JournalUnreadable, fold, read_state
from interpreters.engine.trace import Judged, Trace
from interpreters.frontends import (
    call_line,
    event_tag,
    outcome_line,
    outcome_value,
    standing,
    transcript_text,
    transcript_values,
    transition_text,
    usage_values,
)
from interpreters.stores import FileStore
from interpreters.support.cleaning import shortened, visible, visible_line
from interpreters.support.ports_store import Loaded, SessionInfo, StoreError

LISTED = 20
"""Sessions that are listed unless all are asked for."""


def open_store(arguments: Namespace) -> FileStore:
    """Return the store that is meant."""
    return FileStore(sessions_place(read_settings(arguments)))


# The list


def sessions(arguments: Namespace, output: Output) -> int:
    """List sessions."""
    return anyio.run(_sessions, arguments, output)


async def _sessions(arguments: Namespace, output: Output) -> int:
    store = open_store(arguments)
    found = sorted(await store.sessions(), key=lambda info: info.changed_at, reverse=True)
    shown = found if arguments.every else found[:LISTED]
    rows = [await _standing(store, info) for info in shown]
    if output.as_json:
        for info, status, task in rows:
            output.value(attrs.asdict(info) | {"status": status, "task": task})
        return Exit.COMPLETED
    if not rows:
        output.warn(f"no sessions in {sessions_place(read_settings(arguments))}")
    for info, status, task in rows:
        held = " (open)" if info.holder else ""
        words = shortened(visible_line(task), 60)
        output.page(f"{info.session_id}  {_time(info.changed_at)}  {status}{held}  {output.page_style.dim(words)}")
        if info.problem:
            output.page(output.page_style.bad(f"  {visible_line(info.problem)}"))
    if len(shown) < len(found):
        output.warn(f"{len(found) - len(shown)} older ones are not listed (--all)")
    return Exit.COMPLETED


async def _standing(store: FileStore, info: SessionInfo) -> tuple[SessionInfo, str, str]:
    """Return a session with its status and what it was first asked; one that cannot be read has its problem."""
    if info.problem:
        return info, "unreadable", ""
    try:
        state = await read_state(store, info.session_id)
    except (StoreError, JournalUnreadable) as error:
        return attrs.evolve(info, problem=str(error)), "unreadable", ""
    said = (entry.text for entry in transcript(state) if isinstance(entry, Said))
    return info, ui_status(state).ui.value, next(said, "")


def _time(at_ms: int) -> str:
    return dt.datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


# A conversation


def show(arguments: Namespace, output: Output) -> int:
    """Show a conversation and where it stands."""
    loaded = anyio.run(_load, arguments)
    state = fold(loaded)
    if arguments.usage:
        from interpreters.cli.usage import show_usage

        show_usage(state, loaded, output)
        return _report(loaded, output)
    if output.as_json:
        said = {"session_id": state.session_id, "seq": state.seq, "transcript": transcript_values(state)}
        output.value(said | standing(state) | {"usage": usage_values(state), "damage": _damage(loaded)})
        return _code(loaded)
    text = transcript_text(state, output.page_style, whole=arguments.whole)
    status = explain_end(state).text if not state.open and state.turn.number else ui_status(state).text
    output.page(f"{text}\n\n{output.page_style.bold(visible(status))}" if text else visible(status))
    return _report(loaded, output)


async def _load(arguments: Namespace) -> Loaded:
    return await open_store(arguments).read(arguments.session_id, from_start=True)


def _code(loaded: Loaded) -> Exit:
    return Exit.DAMAGED if loaded.recovery.needs_acceptance else Exit.COMPLETED


def _damage(loaded: Loaded) -> str | None:
    return loaded.recovery.next_check if loaded.recovery.damage else None


def _report(loaded: Loaded, output: Output) -> Exit:
    """Say what is amiss with the journal; what could be read was shown."""
    if told := _damage(loaded):
        output.warn(f"agentcore: session {loaded.session_id!r}: {told}")
    return _code(loaded)


# Transitions and calls


def log(arguments: Namespace, output: Output) -> int:
    """Show every transition, or with ``--audit`` every call."""
    loaded, rejections = anyio.run(_load_all, arguments)
    if arguments.audit:
        for record in _audited(loaded):
            output.value(_audit_value(record)) if output.as_json else output.page(_audit_text(record, output))
        return _report(loaded, output)
    if output.as_json:
        output.value({"log": "header"} | json.loads(loaded.header))
    for event, fields in transitions(loaded):
        if output.as_json:
            output.value({"log": "transition", "event": event_tag(event)} | fields)
        else:
            output.page(transition_text(event, fields, output.page_style, whole=arguments.whole))
    for rejection in rejections:
        value = json.loads(rejection)
        if output.as_json:
            output.value({"log": "rejection", "rejection": value})
        else:
            output.page(output.page_style.bad(f"refused {visible_line(json.dumps(value, ensure_ascii=False))}"))
    return _report(loaded, output)


async def _load_all(arguments: Namespace) -> tuple[Loaded, tuple[bytes, ...]]:
    store = open_store(arguments)
    return await _load(arguments), await store.rejections(arguments.session_id)


class _Told:
    """An engine's log that keeps the last line."""

    def __init__(self) -> None:
        self.line: tuple[str, dict[str, Any]] = ("", {})

    def info(self, event: str, **fields: Any) -> None:
        """Keep it."""
        self.line = (event, fields)

    warning = info


def transitions(loaded: Loaded) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reduce a journal again and tell each reduction as a running engine does, with the event itself as ``fact``."""
    state, events = begun(loaded)
    told = _Told()
    trace = Trace(loaded.session_id, told)
    for payload, event in events:
        judgement = reduce.examine(state, event)
        trace.reduction(Judged(state, event, judgement, 0))
        name, fields = told.line
        del fields["session"], fields["duration_us"]
        yield name, fields | {"fact": json.loads(payload)}
        state = judgement.reduction.state


def begun(loaded: Loaded) -> tuple[State, Iterator[tuple[bytes, Event]]]:
    """Return the state a journal begins with and its events. Raises ``JournalUnreadable``."""
    fold(loaded)  # says what cannot be followed, and where
    header = decode_header(loaded.header)
    state = start(header.session_id, header.config, header.at).state
    return state, ((payload, _decoded(loaded, seq, payload)) for seq, payload in loaded.events)


def _decoded(loaded: Loaded, seq: int, payload: bytes) -> Event:
    try:
        return decode_event(payload)
    except DecodeError as error:
        raise JournalUnreadable(loaded.session_id, seq, str(error)) from error


def _audited(loaded: Loaded) -> Iterator[AuditRecord]:
    state, events = begun(loaded)
    yield from audit(replay(state, (event for _, event in events)))


def _audit_value(record: AuditRecord) -> dict[str, Any]:
    facts = {field.name: getattr(record, field.name) for field in attrs.fields(AuditRecord)}
    return facts | {"outcome": tag_of(type(record.outcome)), "evidence": outcome_value(record.outcome)}


def _audit_text(record: AuditRecord, output: Output) -> str:
    style = output.page_style
    by = record.by or record.rule
    refused = isinstance(record.outcome, DeniedCall)
    decided = f"{'refused' if refused else 'allowed'} by {visible_line(by)}" if by else "not yet decided"
    took = f", {record.duration_ms} ms" if record.duration_ms is not None else ""
    late = ", told afterwards" if record.late else ""
    where = f"attempt {record.epoch}.{record.attempt}" if record.attempt else "never run"
    head = f"{record.seq:>5} {record.call_id:<8} {call_line(record.name, record.arguments or '{}')}"
    facts = style.dim(f"      {decided}, {where}{took}{late}")
    return f"{head}\n{facts}\n      {outcome_line(record.outcome, style)}"
