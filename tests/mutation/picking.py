"""``python -m tests.mutation.picking FOLDER [WALKS]``: write scenarios that tell every mutant that can be told.

Every mutant is asked at passages through its row or function, until some are found at which a scenario would show
something else: passages of random sessions, of what tests do with the reducer, and around the places of both. A mutant
that none of them tells is printed.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutation.mutated import CHANGES, NAMES, install, switched

install()

# ruff: noqa: E402 - the mutants have to be inside before anything of the core is imported
from agentcore.outstanding import outstanding
from agentcore.reduce import make_reduce, reduce
from agentcore.states import Call
from agentcore.testing.passage import all_calls
from agentcore.testing.scenario import render
from tests.mutation import pooling
from tests.mutation.choosing import FIRST, Case, Choice, changing, compare, laid_out, places_of, plain, promising
from tests.mutation.pages import Place, shown, watched
from tests.mutation.pooling import Met, Node
from tests.mutation.rows import mutants

TESTS = ("tests/core", "tests/cases", "tests/scenarios")
LENGTH, AROUND_MAX, WAY_MAX, TEXT_MAX, ALIKE_MAX = 60, 30, 40, 2_000, 3
"""Events of a random session; the longest way to a place that is looked around; to a test's passage,
and the longest event of one; passages kept of a kind."""


def cases() -> Iterator[Case]:
    """Every mutant of a row, then every one of the steps."""
    for mutant in mutants():
        if mutant.outstanding is outstanding:
            yield Case(mutant.name, mutant.row, make_reduce(mutant.tables).examine)
    for (module, function), names in sorted(NAMES.items()):
        for name in names:
            yield Case(f"{module}.{name}", (module, function), switched(module, name, reduce.examine))


def gathered(walks: int) -> dict[Place, list[Met]]:
    """Passages by the rows and functions they go through: some short ways, then the seldom ones."""
    by_walks = list(pooling.from_walks(range(walks), LENGTH))
    by_tests = [met for met in pooling.from_tests(*TESTS) if met.cost <= WAY_MAX and len(repr(met.event)) < TEXT_MAX]
    places: dict[Any, Node] = {}
    for met in sorted((*by_walks, *by_tests), key=lambda met: met.cost):
        places.setdefault(_kind(met.at), met.at)
    for number, node in enumerate(places.values()):
        if node.depth <= AROUND_MAX and node.origin.session_id == pooling.SESSION_ID:
            by_walks.extend(pooling.around(node, number))
    print(f"{len(by_walks)} passages by walks and around {len(places)} places, {len(by_tests)} by tests", flush=True)
    return _sorted(by_walks, by_tests)


def _sorted(by_walks: list[Met], by_tests: list[Met]) -> dict[Place, list[Met]]:
    """Sort passages by place; of walks keep a few of each kind, of tests what the core does without their help."""
    of_tests, alike = set(by_tests), Counter[Any]()
    found: dict[Place, list[Met]] = defaultdict(list)
    for met in sorted((*by_walks, *by_tests), key=lambda met: met.cost):
        after = _kind(Node(met.judged.reduction.state))
        kind = _kind(met.at), type(met.event), met.judged.reason, after, met.called
        alike[kind] += 1
        if met in of_tests:
            kept = shown(reduce.examine(met.at.state, met.event)) == shown(met.judged)
        else:
            kept = alike[kind] <= ALIKE_MAX
        for place in places_of(met) if kept else ():
            found[place].append(met)
    rare = Counter(_story(met) for met in (*by_walks, *by_tests))
    for passages in found.values():
        passages[FIRST:] = sorted(passages[FIRST:], key=lambda met: rare[_story(met)])
    return found


def _story(met: Met) -> Any:
    """What happened in a passage: what is seldom is asked first."""
    return met.judged.rows, met.judged.reason, met.judged.hops


def _kind(node: Node) -> Any:
    """What two places have in common that are taken for alike."""
    state = node.state
    phase, queues, turn = state.phase, state.queues, state.turn
    return (
        (type(phase), phase.transition.because, getattr(phase, "quiet", None), state.epoch > 0),
        tuple(_kind_of_call(call) for call in all_calls(state)),
        (bool(queues.steering), bool(queues.follow_ups), bool(queues.notices)),
        (turn.due_at is None, turn.stop_after_step, state.storage.retry_at is None),
    )


def _kind_of_call(call: Call) -> Any:
    state, contract = call.state, call.contract
    known = (getattr(state, name, None) for name in ("live", "looking"))
    absent = getattr(state, "proved_absent", None) is not None
    earlier = bool(call.unproved), bool(call.voided)
    return type(state), contract.effect, contract.detached, call.registered, earlier, absent, *known


def main(folder: str, walks: int = 300) -> None:
    """Gather, ask, choose, and write."""
    gc.disable()  # a mutant that is asked while garbage is collected seems to hang
    pool, asked = gathered(walks), list(cases())
    gc.freeze()
    with watched():
        for case in asked:
            case.ask(pool[case.place])
            if not case.killers:
                print("told by none:", case.name, *CHANGES.get(case.name, ()), sep="\n    ", flush=True)
        kept = promising(asked)
        compare(asked, kept)
    choice = Choice(asked)
    choice.cover()
    moves = sum(map(changing, choice.chosen))
    print(
        f"{sum(not case.killers for case in asked)} of {len(asked)} mutants are told by none, {len(choice.left)} left"
    )
    print(f"chosen: {moves} moves, {len(choice.chosen) - moves} refusals, of {len(kept)} passages")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, scenario in laid_out(choice.chosen):
        (target / f"{name}.txt").write_text(render(plain(scenario)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
