"""Choosing passages: few of them, short ways to them, and together they tell every mutant that can be told.

Passages that change the session are chosen first, the ones that tell most for what they cost; then places at which many
refusals tell something. A scenario comes to its place briefly, and tells whole what happens there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import Any

import attrs
from attrs import evolve

from agentcore.commands import tag_of
from agentcore.policy import Config
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario, render
from tests.mutation.pages import Examine, Place, otherwise, shown
from tests.mutation.pooling import Met, Node, scenario_of

ENOUGH, FIRST, ASKED_MAX, COMPARED_MAX = 20, 60, 20_000, 100
"""Passages that tell a mutant and are enough; asked until there is one; asked at most; compared in the end."""
OPENING, STEP, MOVE, REFUSAL = 250, 150, 900, 250
"""About how many characters a file has, and gains by a step on the way, a passage that changes something, a refusal."""


@attrs.define(eq=False)
class Case:
    """One mutant, and passages that tell it."""

    name: str
    place: Place
    examine: Examine
    killers: list[Met] = attrs.field(factory=list)

    def told_by(self, met: Met) -> bool:
        """Say whether a scenario with this passage would show something else."""
        return otherwise(lambda: shown(self.examine(met.at.state, met.event)), shown(met.judged))

    def ask(self, passages: list[Met]) -> None:
        """Look for passages that tell it."""
        for number, met in enumerate(passages[:ASKED_MAX]):
            if len(self.killers) >= ENOUGH or (self.killers and number >= FIRST):
                return
            if self.told_by(met):
                self.killers.append(met)


def places_of(met: Met) -> set[Place]:
    """Rows and functions a passage goes through."""
    return {*met.called, *met.judged.rows}


def changing(met: Met) -> bool:
    """Say whether the session is another one behind a passage."""
    return met.judged.reduction.state is not met.at.state


def lawful(met: Met) -> bool:
    """Say whether no law is broken on the way: what tests try need not be true of any world."""
    return "    broken" not in render(scenario_of(met, ""))


def promising(cases: Iterable[Case]) -> list[Met]:
    """Passages that tell many mutants, and for each mutant that is hard to tell two that do."""
    cases = list(cases)
    tells = Counter(met for case in cases for met in case.killers)
    kept: dict[Met, None] = {}
    through: dict[Place, list[Met]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: len(case.killers)):
        told_by = next((met for met in through[case.place] if case.told_by(met)), None)
        if told_by is not None:
            case.killers.append(told_by)
            continue
        best = sorted(case.killers, key=lambda met: -tells[met] / (OPENING + STEP * met.at.depth))
        for met in [met for met in best if met not in kept and lawful(met)][:2]:
            kept[met] = None
            for place in places_of(met):
                through[place].append(met)
    return list(kept)


def compare(cases: Iterable[Case], kept: list[Met]) -> None:
    """Let each mutant know which of the kept passages tell it."""
    through: dict[Place, list[Met]] = defaultdict(list)
    for met in kept:
        for place in places_of(met):
            through[place].append(met)
    among = set(kept)
    for case in cases:
        own = [met for met in dict.fromkeys(case.killers) if met in among]
        known = set(own)
        asked = (met for met in through[case.place][:COMPARED_MAX] if met not in known)
        case.killers = own + [met for met in asked if case.told_by(met)]


class Choice:
    """What is chosen, and which mutants are left."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self.chosen: list[Met] = []
        self.left: set[str] = set()
        self._tells: dict[Met, set[str]] = defaultdict(set)
        self._opened: set[Node] = set()
        for case in cases:
            self.left |= {case.name} if case.killers else set()
            for met in case.killers:
                self._tells[met].add(case.name)

    def cover(self) -> None:
        """Choose passages that change something, then places at which something is refused."""
        _take_best([met for met in self._tells if changing(met)], self._worth, self._take)
        at: dict[Node, list[Met]] = defaultdict(list)
        for met in self._tells:
            if not changing(met):
                at[met.at].append(met)

        def take(node: Node) -> None:
            for met in sorted(at[node], key=lambda met: -len(self._tells[met])):
                if self._tells[met] & self.left:
                    self._take(met)

        _take_best(list(at), lambda node: self._worth_of(node, at[node]), take)

    def _take(self, met: Met) -> None:
        self.chosen.append(met)
        self.left -= self._tells[met]
        self._opened |= {met.at, *met.at.way()}

    def _worth(self, met: Met) -> float:
        return len(self._tells[met] & self.left) / (self._opening(met.at) + MOVE)

    def _opening(self, node: Node) -> int:
        return 0 if node in self._opened else OPENING + STEP * node.depth

    def _worth_of(self, node: Node, found: list[Met]) -> float:
        new: set[str] = set()
        useful = 0
        for met in found:
            more = (self._tells[met] & self.left) - new
            useful += bool(more)
            new |= more
        return len(new) / (self._opening(node) + REFUSAL * useful + 1)


def _take_best(found: list[Any], worth: Callable[[Any], float], take: Callable[[Any], None]) -> None:
    """Take what is worth most until nothing is worth anything; what is taken lessens the worth of the rest."""
    heap = [(-worth(each), number) for number, each in enumerate(found)]
    heapify(heap)
    while heap:
        before, number = heappop(heap)
        now = -worth(found[number])
        if now > before + 1e-12:
            heappush(heap, (now, number))
        elif now:
            take(found[number])
        else:
            return


def laid_out(chosen: list[Met]) -> Iterator[tuple[str, Scenario]]:
    """Yield scenarios with their names: each way once, and everything that is chosen on it told whole."""
    moves = {(met.at, repr(met.event)) for met in chosen if changing(met)}
    refused: dict[Node, list[Met]] = defaultdict(list)
    for met in chosen:
        if not changing(met):
            refused[met.at].append(met)
    names: Counter[str] = Counter()
    for met in sorted(chosen, key=lambda met: -met.cost):
        if not ((met.at, repr(met.event)) in moves if changing(met) else met.at in refused):
            continue
        steps: list[Step | str] = []
        way: list[tuple[Node, Any, int | None]] = [
            (node.parent, node.event, node.keeps) for node in met.at.way() if node.parent is not None
        ]
        for node, event, keeps in [*way, (met.at, met.event, met.keeps)] if changing(met) else way:
            _say(steps, (Step(each.event) for each in refused.pop(node, ())), whole=True)
            _say(steps, [Step(event, keeps=keeps)], whole=(node, repr(event)) in moves)
            moves.discard((node, repr(event)))
        _say(steps, (Step(each.event) for each in refused.pop(met.at, ())), whole=True)
        phase = tag_of(type(met.at.state.phase))
        name = f"{phase}-{tag_of(type(met.event))}" if changing(met) else f"{phase}-refuses"
        names[name] += 1
        origin = met.at.origin
        yield f"{name}-{names[name]}", Scenario(origin.session_id, origin.at, origin.config, tuple(steps))


def _say(steps: list[Step | str], more: Iterable[Step], *, whole: bool) -> None:
    word = "whole" if whole else "briefly"
    for step in more:
        if next((each for each in reversed(steps) if isinstance(each, str)), "") != word:
            steps.append(word)
        steps.append(step)


def plain(scenario: Scenario) -> Scenario:
    """Set back what a scenario was configured with, as long as it tells the same."""
    told = _came(scenario)
    for other in _plainer(scenario):
        with suppress(ValueError):  # some policies need some tools, and say so
            changed = evolve(scenario, config=other(scenario.config))
            if changed != scenario and _came(changed) == told:
                scenario = changed
    return scenario


def _came(scenario: Scenario) -> list[str]:
    return [line for line in render(scenario).split("\n") if line.startswith(" ")]


def _plainer(scenario: Scenario) -> Iterator[Callable[[Config], Config]]:
    """Yield changes of a configuration, each towards a plainer one."""
    usual = Config()
    for name in dict.fromkeys(each.name for each in scenario.config.tools):
        yield lambda config, name=name: evolve(config, tools=tuple(each for each in config.tools if each.name != name))
    for field in attrs.fields(Config):
        if field.name not in ("tools", "limits", "policy"):
            yield lambda config, name=field.name: evolve(config, **{name: getattr(usual, name)})
    for part in ("limits", "policy"):
        for field in attrs.fields(type(getattr(usual, part))):
            yield lambda config, part=part, name=field.name: evolve(
                config,
                **{part: evolve(getattr(config, part), **{name: getattr(getattr(usual, part), name)})},
            )
