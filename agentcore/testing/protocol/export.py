"""The explored states as a diagram: Mermaid, DOT, or JSON.

Labels come from other people's programs, so no sign of theirs can mean anything to the reader of the diagram.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from agentcore.testing.protocol.plain import one_line
from agentcore.testing.protocol.report import Findings
from agentcore.testing.protocol.shape import Edge, Transition

MOST = 200
"""States in a diagram unless told otherwise; more cannot be looked at."""
LABEL_MAX = 80
"""Letters of a label."""


def to_mermaid(findings: Findings, *, most: int = MOST) -> str:
    """Return a Mermaid state diagram of the first ``most`` places; what is ignored is left out."""
    lines = ["stateDiagram-v2", *(f"    %% {note}" for note in _left_out(findings, most))]
    for place, text in enumerate(_states(findings, most)):
        lines.append(f'    state "{_entities(text)}" as s{place}')
    lines.append("    [*] --> s0")
    for (place, target), labels in _arrows(findings, most).items():
        lines.append(f"    s{place} --> s{target}: {' #124; '.join(_entities(each) for each in labels)}")
    lines += [f"    s{place} --> [*]" for place in _resting(findings, most)]
    return "\n".join(lines) + "\n"


def to_dot(findings: Findings, *, most: int = MOST) -> str:
    """Return a graph in DOT of the first ``most`` places; accepting states have two borders."""
    resting = set(_resting(findings, most))
    lines = [f"digraph {_quoted(findings.protocol.name)} {{", *(f"    // {note}" for note in _left_out(findings, most))]
    lines += ["    start [shape=point];", "    start -> s0;"]
    for place, text in enumerate(_states(findings, most)):
        lines.append(f"    s{place} [label={_quoted(text)}, peripheries={2 if place in resting else 1}];")
    for (place, target), labels in _arrows(findings, most).items():
        lines.append(f"    s{place} -> s{target} [label={_quoted(' | '.join(labels))}];")
    return "\n".join([*lines, "}"]) + "\n"


def to_json(findings: Findings) -> str:
    """Return all places and transitions as JSON: ``states`` and ``edges``, and the report of the search."""
    graph, protocol = findings.graph, findings.protocol
    states = [
        {"state": protocol.show(state), "accepting": graph.accepting[place], "unseen": graph.unseen[place]}
        for place, state in enumerate(graph.states)
    ]
    edges = [
        {
            "from": place,
            "to": edge.target,
            "event": protocol.show_event(edge.transition.event),
            "commands": [protocol.show_command(each) for each in edge.transition.commands],
            "refused": edge.transition.refusal,
            "progress": edge.progress,
        }
        for place, leaving in enumerate(graph.edges)
        for edge in leaving
    ]
    return json.dumps({**findings.to_json(), "graph": {"states": states, "edges": edges}}, indent=2) + "\n"


def _left_out(findings: Findings, most: int) -> Iterator[str]:
    more = len(findings.graph.states) - most
    if more > 0:
        yield f"{more} more states are left out"


def _states(findings: Findings, most: int) -> Iterator[str]:
    return (_short(findings.protocol.show(state)) for state in findings.graph.states[:most])


def _resting(findings: Findings, most: int) -> list[int]:
    return [place for place, is_accepting in enumerate(findings.graph.accepting[:most]) if is_accepting]


def _arrows(findings: Findings, most: int) -> dict[tuple[int, int], list[str]]:
    """Return for each two places what leads from one to the other."""
    found: dict[tuple[int, int], list[str]] = {}
    for place, edges in enumerate(findings.graph.edges[:most]):
        for edge in edges:
            if edge.target < most and (edge.transition.changed or edge.transition.commands):
                found.setdefault((place, edge.target), []).append(_said(findings, edge))
    return found


def _said(findings: Findings, edge: Edge) -> str:
    transition: Transition = edge.transition
    orders = ", ".join(findings.protocol.show_command(each) for each in transition.commands)
    event = findings.protocol.show_event(transition.event)
    return _short(f"{event} / {orders}" if orders else event)


def _short(text: str) -> str:
    line = one_line(text.replace("\n", ", ")).removeprefix("\\")
    return line if len(line) <= LABEL_MAX else f"{line[: LABEL_MAX - 1]}…"


def _entities(text: str) -> str:
    """Write every letter that could mean something as its number."""
    return "".join(each if each.isalnum() or each in " .,_()-/" else f"#{ord(each)};" for each in text)


def _quoted(text: str) -> str:
    return '"' + _short(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
