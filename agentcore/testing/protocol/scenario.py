"""Scenario files of any protocol: what happens, one event a paragraph, and indented below it what comes of it.

::

    protocol naive-loop
        idle

    prompt
        asking the model
        -> request the model

Only the lines that are not indented are read; everything else is written anew by running it. ``#`` begins a remark,
which stays. An event is written as the protocol shows it, and read by looking for that text among the events that are
enabled where it stands: so no protocol has to bring a parser, and a scenario can hold only what can happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentcore.testing.pages import Entry, entries, laid_out
from agentcore.testing.protocol.judging import Judge, take
from agentcore.testing.protocol.plain import one_line
from agentcore.testing.protocol.report import Counterexample, Findings
from agentcore.testing.protocol.shape import LoopProtocol


class ScenarioError(ValueError):
    """A scenario that cannot be played: says which line, what was found, and what would have been possible."""


def protocol_scenario(protocol: LoopProtocol, found: Counterexample) -> str:
    """Return a counterexample as the text of a scenario file, with the law and the problem as its first remark."""
    return _written(protocol, (found,))


def explain(findings: Findings) -> str:
    """Return what was found as a page to read: how much was seen, then for each broken law a shortest way there.

    Laws that are broken by the same way share it.
    """
    together: dict[tuple[int, ...], list[Counterexample]] = {}
    for found in findings.broken:
        way = tuple(id(step) for step in (*found.steps, *found.around))
        together.setdefault(way, []).append(found)
    pages = [_written(findings.protocol, group) for group in together.values()]
    more = ["Ways end where they break a law: what lies behind is looked at once that is mended."] if pages else []
    return "\n".join([findings.summary(), *more, "", *pages]).rstrip() + "\n"


def _written(protocol: LoopProtocol, together: Sequence[Counterexample]) -> str:
    """Write counterexamples that have their steps in common as one scenario."""
    first = together[0]
    lines = [f"protocol {one_line(protocol.name)}"]
    lines += [f"# {found.law}: {one_line(found.problem)}" for found in together]
    lines += [_event(protocol, step.event) for step in first.steps]
    if first.around:
        lines += ["# Round and round:", *(_event(protocol, step.event) for step in first.around)]
    return replay(protocol, "\n".join(lines))


def replay(protocol: LoopProtocol, text: str) -> str:
    """Play a scenario and return its text as it comes out now; a file that is up to date comes out as it is.

    ``ScenarioError`` names a line that is no event that can happen there.
    """
    run = _Run(protocol)
    page: list[Entry | str] = []
    for number, line in entries(text):
        if line.startswith("#"):
            page.append(line)
        elif line.startswith("protocol "):
            page.append(Entry((f"protocol {one_line(protocol.name)}",), tuple(run.here())))
        else:
            page.append(Entry((line,), tuple(run.take(number, line))))
    return laid_out(page)


class _Run:
    """A protocol while a scenario is played."""

    def __init__(self, protocol: LoopProtocol) -> None:
        self._protocol, self._state = protocol, protocol.initial
        self._key = protocol.normalise(protocol.initial)
        self._judge = Judge(protocol.laws)
        self._memories = self._judge.start

    def here(self) -> Iterator[str]:
        """Yield the state as it is shown."""
        return (one_line(line) for line in self._protocol.show(self._state).split("\n"))

    def take(self, number: int, line: str) -> Iterator[str]:
        """Let an event happen and yield what comes of it."""
        transition, self._key, problem = take(self._protocol, self._state, self._find(number, line), self._key)
        self._state = transition.after
        if transition.refusal is not None:
            yield f"refused: {one_line(transition.refusal)}"
        elif transition.ignored:
            yield "ignored"
        else:
            yield from self.here()
        for command in transition.commands:
            yield f"-> {one_line(self._protocol.show_command(command))}"
        self._memories, problems = self._judge.transition(self._memories, transition)
        for law, words in (*([problem] if problem else ()), *problems, *self._judge.state(self._state)):
            yield f"broken {law}: {one_line(words)}"

    def _find(self, number: int, line: str) -> Any:
        """Return the enabled event that is shown as a line."""
        possible = [(_event(self._protocol, event), event) for event in self._protocol.enabled(self._state)]
        found = [event for shown, event in possible if shown == line]
        if not found:
            named = "; ".join(shown for shown, _ in possible) or "nothing"
            raise ScenarioError(f"line {number}: {line} cannot happen here; what can is: {named}")
        if len(found) > 1:
            raise ScenarioError(
                f"line {number}: {len(found)} events are shown as {line}; let show_event tell them apart"
            )
        return found[0]


def _event(protocol: LoopProtocol, event: Any) -> str:
    shown = one_line(protocol.show_event(event))
    return f"\\{shown}" if shown.startswith("protocol ") else shown
