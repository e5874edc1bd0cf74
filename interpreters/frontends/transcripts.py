"""The conversation as lines on a screen, or as values for a program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.messages import MessageSource
from agentcore.projections import Called, Entry, Said, Speaker, transcript
from agentcore.states import State
from interpreters.frontends.calls import call_line
from interpreters.frontends.style import Style
from interpreters.support.cleaning import visible

RESULT_LINES_MAX = 12
"""Lines of a result that are shown; ``--json`` has all of it."""


def transcript_text(state: State, style: Style, *, whole: bool = False) -> str:
    """Return the conversation, oldest first; with ``whole`` nothing of a result is left out."""
    return "\n\n".join(_entry(entry, style, whole=whole) for entry in transcript(state))


def transcript_values(state: State) -> list[dict[str, Any]]:
    """Return the conversation as JSON values: each ``said`` or ``called``."""
    return [{"kind": type(entry).__name__.lower()} | attrs.asdict(entry) for entry in transcript(state)]


def _entry(entry: Entry, style: Style, *, whole: bool) -> str:
    return _said(entry, style) if isinstance(entry, Said) else _called(entry, style, whole=whole)


def _said(said: Said, style: Style) -> str:
    remarks = [said.source.value] if said.source not in (None, MessageSource.PROMPT) and said.source else []
    remarks += ["interrupted"] if said.interrupted else []
    remarks += [f"not delivered yet, id {visible(said.id)}"] if said.waiting else []
    label = style.bold(_SPEAKERS[said.speaker]) + style.dim(f" ({', '.join(remarks)})" if remarks else "")
    thought = style.dim(visible(said.thinking)) + "\n" if said.thinking else ""
    return f"{label}\n{thought}{visible(said.text)}"


_SPEAKERS: Mapping[Speaker, str] = {Speaker.USER: "You", Speaker.MODEL: "Model", Speaker.LOOP: "Loop"}


def _called(called: Called, style: Style, *, whole: bool) -> str:
    mark = {True: style.good, False: style.bad, None: style.unsure}[called.ok]
    arguments = f"\n{_indented(_pretty(called.arguments))}" if whole else ""
    head = f"> {call_line(called.name, called.arguments)}{style.dim(f'  [{called.call_id}]')}{arguments}"
    lines = visible(called.text).split("\n") if called.text else []
    if not whole and len(lines) > RESULT_LINES_MAX:
        lines = [*lines[:RESULT_LINES_MAX], style.dim(f"… {len(lines) - RESULT_LINES_MAX} more lines (--whole)")]
    return "\n".join([head, f"< {mark(_in_words(called.standing))}", *(f"  {line}" for line in lines)])


def _in_words(standing: str) -> str:
    """Say a tag as a person would: programs get the tag itself."""
    return standing.removesuffix("-call").replace("-", " ")


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in visible(text).split("\n"))
