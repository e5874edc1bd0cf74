"""One reduction as lines: what happened, where it led, why, and on which evidence.

The input is what the engine tells its log (``interpreters.engine.trace``): so a session is shown in the same words
while it runs and when its journal is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentcore.commands import tag_of
from agentcore.events import EVENTS
from interpreters.frontends.style import Style
from interpreters.support.cleaning import shortened, visible_line

_TAGS: Mapping[str, str] = {kind.__name__: tag_of(kind) for kind in EVENTS}

EVIDENCE_MAX = 120
"""Characters of one piece of evidence that are shown."""


def transition_text(event: str, fields: Mapping[str, Any], style: Style, *, whole: bool = False) -> str:
    """Return one reduction as a line, one more for each call that moved and for what the event and the state say.

    With ``whole`` nothing is shortened, and what was ordered is named.
    """
    head = f"{_seq(fields)} {style.bold(f'{event_tag(event):<20}')} {_way(fields)}{_why(fields, style)}"
    details = [f"call {visible_line(move)}" for move in fields["calls"]]
    details += _facts(fields.get("fact", {}), whole=whole)
    if fields["from"] != fields["to"]:
        details += [f"{name}: {_short(value, whole=whole)}" for name, value in fields["evidence"].items() if value]
    if whole and fields["commands"]:
        details.append(f"orders {', '.join(fields['commands'])}")
    if "refused" in fields:
        details.append(style.bad(visible_line(str(fields["refused"]))))
    return "\n".join([head, *(style.dim(f"        {line}") for line in details)])


_SHOWN_ELSEWHERE = ("type", "v", "at")
"""Parts of an event that the line says otherwise."""


def _facts(fact: Mapping[str, Any], *, whole: bool) -> list[str]:
    """Return what the event itself says."""
    told = {name: value for name, value in fact.items() if _says(value) and name not in _SHOWN_ELSEWHERE}
    if whole:
        return [f"{name} = {visible_line(_plain(value))}" for name, value in told.items()]
    pieces = (f"{name}={_short(_plain(value), whole=False)}" for name, value in told.items())
    return [shortened(line, EVIDENCE_MAX)] if (line := ", ".join(pieces)) else []


def _says(value: object) -> bool:
    if isinstance(value, dict):
        return any(_says(each) for each in value.values())
    return value not in (None, "", [], False, 0)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _seq(fields: Mapping[str, Any]) -> str:
    return f"{fields['seq']:>5}" if fields["verdict"] == "accepted" else "     "


def event_tag(event: str) -> str:
    """Return the tag of an event of that class name: ``ToolLost`` is ``tool-lost``."""
    return _TAGS.get(event, event)


def _way(fields: Mapping[str, Any]) -> str:
    before, after = fields["from"], fields["to"]
    return str(after) if before == after else f"{before} -> {after}"


def _why(fields: Mapping[str, Any], style: Style) -> str:
    verdict, because = fields["verdict"], fields["because"]
    if verdict != "accepted":
        return (style.bad if verdict == "rejected" else style.dim)(f"  {verdict}: {because}")
    # Where the phase stays, its reason is that of an earlier line.
    reached = (because,) if fields["from"] != fields["to"] else ()
    ways = (*(hop for hop in fields["hops"] if hop != because), *reached)
    return style.dim(f"  ({' > '.join(ways)})") if ways else ""


def _short(value: object, *, whole: bool) -> str:
    text = visible_line(str(value))
    return text if whole else shortened(text, EVIDENCE_MAX)
