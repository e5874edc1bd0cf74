"""``python -m tests.mutation.run [EVERY [ASKED]]``: judge the mutants of the tables, or every so many-th of them.

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


def main(every: int = 1, asked_every: int = 1) -> None:
    """Judge every so many-th mutant by laws, every so many-th of those alive by tests; print figures and survivors."""
    began, chosen = time.process_time(), list(mutants())[::every]
    through, some = collected(WALKS, STEPS)
    killers = {each.name: killed_by_law(each, through.get(each.row, []) if each.row else some) for each in chosen}
    _tell("by laws", chosen, killers, began)
    alive = [each for each in chosen if not killers[each.name]][::asked_every]
    killers |= asked(alive).killed
    _tell("of those alive, by tests", alive, killers, began)
    for each in alive:
        if not killers[each.name]:
            print(f"alive: {each.name}", flush=True)


def _tell(by: str, chosen: list[Mutant], killers: dict[str, str], began: float) -> None:
    table: dict[str, Counter[str]] = {each.kind: Counter() for each in chosen}
    for each in chosen:
        table[each.kind]["killed" if killers[each.name] else "alive"] += 1
    killed = sum(counts["killed"] for counts in table.values())
    print(f"{by}: {killed} of {len(chosen)} killed, {time.process_time() - began:.0f} s of processor time", flush=True)
    for kind, counts in table.items():
        print(f"  {kind}: {counts['killed']} killed, {counts['alive']} alive", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
