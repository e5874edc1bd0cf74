"""The reference, rendered from the tables and the vocabulary themselves, so that it cannot say anything else.

``diagram`` draws a machine as a Mermaid state diagram; ``transitions`` lists its rows; ``vocabulary`` lists every
event, command, state, code and bound with what its own docstring says.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any

import attrs

from agentcore import events, limits, rejections, states
from agentcore.commands import ANSWERS, COMMANDS, TAGS
from agentcore.events import HOST_EVENTS, WORLD_EVENTS
from agentcore.states import CALL_STATES, PHASES
from agentcore.table import TABLES, Kind, Row

_HEAD = "<!-- Generated from the tables; a test fails when it is stale. -->\n"


def diagram(rows: tuple[Row, ...], first: str) -> str:
    """Return a Mermaid state diagram of a table: an arrow for each pair of states, labelled with the events."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for target in row.to:
            pair = (row.source.__name__, target.__name__)
            if pair[0] != pair[1]:
                arrows.setdefault(pair, []).append(row.event.__name__)
    lines = ["stateDiagram-v2", f"    [*] --> {first}"]
    for (leaves, enters), causes in arrows.items():
        lines.append(f"    {leaves} --> {enters}: {', '.join(dict.fromkeys(causes))}")
    return "\n".join(lines)


def diagrams() -> str:
    """Return the page with both machines."""
    return (
        f"{_HEAD}# The two machines\n\n## The turn\n\n```mermaid\n{diagram(TABLES.turn, 'Idle')}\n```\n\n"
        f"## The call\n\n```mermaid\n{diagram(TABLES.call, 'Proposed')}\n```\n"
    )


def transitions() -> str:
    """Return the page with every row of both tables."""
    lines = [f"{_HEAD}# Every row of the tables", ""]
    for title, rows in (("The turn", TABLES.turn), ("The call", TABLES.call)):
        lines += [f"## {title}", "", "| from | event | what | step | to |", "| --- | --- | --- | --- | --- |"]
        lines += [_line(row) for row in rows]
        lines.append("")
    return "\n".join(lines)


def _line(row: Row) -> str:
    step = getattr(row.step, "__name__", "")
    says = inspect.getdoc(row.step) if row.step is not None else ""
    first = says.splitlines()[0] if says else ""
    what = f"`{step}`: {first}" if step else "the call decides" if row.answered_by_call else str(row.because)
    kind = str(row.because) if row.kind is Kind.MOVE else row.kind.value
    targets = ", ".join(target.__name__ for target in row.to)
    return f"| {row.source.__name__} | {row.event.__name__} | {kind} | {what} | {targets} |"


def vocabulary() -> str:
    """Return the page with every word."""
    lines = [f"{_HEAD}# The vocabulary", ""]
    lines += _classes("Events of hosts", HOST_EVENTS)
    lines += _classes("Events of the world", WORLD_EVENTS)
    lines += ["## Commands", ""]
    for command in COMMANDS:
        answers = ", ".join(answer.__name__ for answer in ANSWERS[command]) or "nothing"
        lines += [f"### {command.__name__}", "", f"`{TAGS[command]}`: {_first(command)} Answered by {answers}.", ""]
        lines += _fields(command)
    lines += _classes("Phases", PHASES)
    lines += _classes("Call states", CALL_STATES)
    lines += _words("Reasons for transitions", states.Because)
    lines += _words("Reasons why a turn ended", states.StopReason)
    lines += _words("Rejection codes", rejections.RejectionCode)
    lines += ["## Bounds", "", "| bound | counts | begins anew | at the bound |", "| --- | --- | --- | --- |"]
    lines += [f"| {bound.name} | {bound.counts} | {bound.reset} | {bound.at_bound} |" for bound in limits.BOUNDS]
    return "\n".join(lines) + "\n"


def _classes(title: str, kinds: tuple[type[Any], ...]) -> list[str]:
    lines = [f"## {title}", ""]
    for kind in kinds:
        lines += [f"### {kind.__name__}", "", inspect.getdoc(kind) or "", ""]
        lines += _fields(kind)
    return lines


def _fields(kind: type[Any]) -> list[str]:
    said = dict(_said(kind))
    lines = [f"- `{field.name}`: {said.get(field.name, '')}" for field in attrs.fields(kind)]
    return [*lines, ""]


def _words(title: str, kind: type[Enum]) -> list[str]:
    return [f"## {title}", "", ", ".join(f"`{word.value}`" for word in kind), ""]


def _first(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").splitlines()[0]


def _said(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield each field of a class with the string that stands under it."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(kind) or events))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            yield field.target.id, " ".join(str(ast.literal_eval(below.value)).split())
