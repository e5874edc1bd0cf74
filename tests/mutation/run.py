"""``python -m tests.mutation.run [EVERY]``: judge every mutant, or every so many-th; print figures and who lives.

Mutants of rows are judged by laws first. What these let live, and every mutant that mutmut makes of the steps, is
judged by the scenario files: it is killed by one whose text it changes.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.mutation.mutated import CHANGES, NAMES, install, switched

install()

# ruff: noqa: E402 - the mutants have to be inside before anything of the core is imported
from agentcore.events import Event
from agentcore.outstanding import outstanding
from agentcore.reduce import Judgement, make_reduce, reduce
from agentcore.states import State
from tests.mutation.judging import collected, killed_by_law
from tests.mutation.pages import Examine, Place, Suite, read, watched
from tests.mutation.rows import Mutant, mutants

WALKS, STEPS = 300, 150


def main(every: int = 1) -> None:
    """Judge each so many-th mutant."""
    began = time.process_time()
    suite = Suite(read())
    print(f"{suite.files} scenario files read in {time.process_time() - began:.1f} s", flush=True)
    began, left = time.process_time(), list(_left_by_laws(list(mutants())[::every]))
    print(f"  {time.process_time() - began:.0f} s of processor time", flush=True)
    with watched():
        for name, asked in (("rows that laws let live", left), ("steps", list(_steps())[::every])):
            began, living = time.process_time(), 0
            for mutant, place, examine in asked:
                if not suite.killer(place, examine):
                    living += 1
                    print("alive:", mutant, *CHANGES.get(mutant, ()), sep="\n    ", flush=True)
            print(f"{name}, by scenario files: {len(asked) - living} of {len(asked)} killed, {living} alive")
            print(f"  {time.process_time() - began:.0f} s of processor time", flush=True)


def _left_by_laws(asked: list[Mutant]) -> Iterator[tuple[str, Place, Examine]]:
    """Print by kind how many mutants of rows laws kill, and yield those that live."""
    through, some = collected(WALKS, STEPS)
    figures: dict[str, Counter[bool]] = {}
    for mutant in asked:
        killed = bool(killed_by_law(mutant, through.get(mutant.row, []) if mutant.row else some))
        figures.setdefault(mutant.kind, Counter())[killed] += 1
        if not killed:
            print(f"left by laws: {mutant.name}", flush=True)
            examine = make_reduce(mutant.tables).examine if mutant.outstanding is outstanding else _never
            yield mutant.name, mutant.row, examine
    for kind, counts in figures.items():
        print(f"rows, {kind}, by laws: {counts[True]} of {counts.total()} killed", flush=True)


def _never(state: State, event: Event) -> Judgement:
    """Judge as the true core does: scenario files are not asked about what is outstanding, laws kill all of these."""
    return reduce.examine(state, event)


def _steps() -> Iterator[tuple[str, Place, Examine]]:
    for (module, function), names in sorted(NAMES.items()):
        for name in names:
            yield f"{module}.{name}", (module, function), switched(module, name, reduce.examine)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
