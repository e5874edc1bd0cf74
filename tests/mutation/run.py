"""``python -m tests.mutation.run [COUNT]``: judge every mutant of the tables, or every so many-th, and say who lives.

First by laws at passages of random walks, then by the tests that take the mutant's row.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.mutation.judging import collected, killed_by_law
from tests.mutation.replaying import asked
from tests.mutation.rows import Mutant, mutants

WALKS, STEPS = 300, 150


def judged(chosen: list[Mutant], suite: tuple[str, ...] | None = None) -> dict[str, str]:
    """Who killed each mutant: a law, a test, or nobody (empty)."""
    through, some = collected(WALKS, STEPS)
    killers = {each.name: killed_by_law(each, through.get(each.row, []) if each.row else some) for each in chosen}
    alive = [each for each in chosen if not killers[each.name]]
    replay = asked(alive) if suite is None else asked(alive, suite)
    return {**killers, **replay.killed}


def main(every: int = 1) -> None:
    """Judge and print: a table by kind, then every survivor."""
    began, chosen = time.process_time(), list(mutants())[::every]
    killers = judged(chosen)
    table: dict[str, Counter[str]] = {each.kind: Counter() for each in chosen}
    for each in chosen:
        killer = killers[each.name]
        table[each.kind]["test" if "::" in killer else "law" if killer else "alive"] += 1
    print(f"{len(chosen)} mutants, {time.process_time() - began:.0f} s of processor time")
    for kind, counts in table.items():
        print(f"{kind}: {dict(counts)}")
    for each in chosen:
        if not killers[each.name]:
            print(f"alive: {each.name}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
