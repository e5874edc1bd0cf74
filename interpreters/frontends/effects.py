"""Effects nobody can vouch for: what is known of each, and what can be done about it.

Checking always stands before doing again, and a retry is offered only where the absence is proved (R-156, R-243).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from agentcore.commands import tag_of
from agentcore.events import Inspector
from agentcore.policy import Effect
from agentcore.projections import InspectCall, ResolveCall, RetryCall, all_calls, pending_acts, unresolved
from agentcore.states import Call, EffectUnknown, State
from interpreters.frontends.calls import call_line
from interpreters.frontends.style import Style
from interpreters.support.cleaning import visible_line

_CONTRACTS: Mapping[Effect, str] = {
    Effect.PURE: "only reads",
    Effect.KEYED: "sent again under the same key it happens once",
    Effect.FENCEABLE: "the tool can find out, and keep a late attempt from acting",
    Effect.INSPECTABLE: "the tool can look whether it happened",
    Effect.OPAQUE: "no program can find out; a person has to look",
}


@attrs.frozen
class Remedy:
    """Something that can be done about an effect now."""

    call_id: str
    """The effect."""
    act: str
    """``look``, ``resolve`` or ``retry``."""
    text: str
    """What it does, in words."""


def remedies(state: State) -> tuple[Remedy, ...]:
    """Return what can be done about unknown effects now, checks first."""
    return tuple(_remedies(state))


def _remedies(state: State) -> Iterator[Remedy]:
    open_calls = {call.call_id for call in unresolved(state)}
    for act in pending_acts(state):
        match act:
            case InspectCall(call_id=call_id, by=by) if call_id in open_calls:
                who = "the tool looks" if by is Inspector.PROGRAM else "you are asked what you found"
                yield Remedy(call_id, "look", who)
            case ResolveCall(call_id=call_id) if call_id in open_calls:
                yield Remedy(call_id, "resolve", "say what became of it")
            case RetryCall(call_id=call_id):
                yield Remedy(call_id, "retry", "run it again: it is proved that it did not happen")
            case _:
                pass


def effects_values(state: State) -> list[dict[str, Any]]:
    """Return the unknown effects for a program."""
    possible = remedies(state)
    return [
        {
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
            "effect": call.contract.effect.value,
            "state": tag_of(type(call.state)),
            "in_register": call.registered,
            "facts": dict(_facts(call)),
            "acts": [remedy.act for remedy in possible if remedy.call_id == call.call_id],
        }
        for call in _worth_showing(state)
    ]


def effects_text(state: State, style: Style, command: Callable[[Remedy], tuple[str, ...]]) -> str:
    """Return the unknown effects for a person; ``command`` gives what to type for a remedy."""
    possible = remedies(state)
    blocks = []
    for call in _worth_showing(state):
        lines = [
            f"{style.unsure('?')} {style.bold(call.call_id)} {call_line(call.name, call.arguments)}",
            f"    {call.contract.effect.value}: {_CONTRACTS[call.contract.effect]}",
            *(f"    {name}: {visible_line(text)}" for name, text in _facts(call)),
        ]
        for remedy in (each for each in possible if each.call_id == call.call_id):
            lines += [f"    - {remedy.text}:", *(f"        {line}" for line in command(remedy))]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _worth_showing(state: State) -> tuple[Call, ...]:
    """Return unresolved effects, and those whose absence was proved, for which a retry may be asked."""
    proved = (
        call
        for call in all_calls(state).values()
        if isinstance(call.state, EffectUnknown) and call.state.proved_absent is not None
    )
    return (*unresolved(state), *proved)


def _facts(call: Call) -> Iterator[tuple[str, str]]:
    run, current = call.run, call.state
    if run is not None:
        yield "released", _time(run.released_at)
        yield "attempt", f"{run.epoch}.{run.attempt}"
        if run.handle:
            yield "handle", run.handle
        if run.observation:
            yield "last seen", run.observation
    yield "because", current.transition.because.value
    yield from ((name, text) for name, text in current.transition.evidence if text)
    if isinstance(current, EffectUnknown):
        if current.proved_absent is not None:
            yield "proved absent", current.proved_absent
        yield from (("also reported", report.said) for report in current.reports)


def _time(at_ms: int) -> str:
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).isoformat(sep=" ", timespec="seconds")
