"""The scenarios that are always played, each aimed at one habit of broken loops, and those made from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from interpreters.check.scenarios import (
    CUTS,
    GUARDED,
    UNKNOWN,
    Act,
    Behaviour,
    Call,
    Fault,
    Form,
    Ids,
    Kind,
    Moment,
    Scenario,
    Step,
)

_ONE = Step((Call(),))
_TWO = Step((Call(), Call()))


def _after(*faults: Fault) -> Step:
    return Step((Call(),), instead=faults)


def _calling(*calls: Call) -> Step:
    return Step(calls)


NAMED: tuple[Scenario, ...] = (
    Scenario("text-only"),
    Scenario("one-call", (_ONE,)),
    Scenario("parallel-calls", (Step((Call(behaviour=Behaviour.SLOW), Call(), Call())),)),
    Scenario("three-rounds", (_ONE, _TWO, _ONE)),
    Scenario("labelled-stop", (Step((Call(),), labelled_stop=True),)),
    Scenario("arguments-of-a-wrong-type", (_calling(Call(form=Form.WRONG_TYPE)), _ONE)),
    Scenario("arguments-that-are-no-json", (_calling(Call(form=Form.NO_JSON), Call()), _ONE)),
    Scenario("arguments-that-are-no-object", (_calling(Call(form=Form.NO_OBJECT)), _ONE)),
    Scenario("unknown-tool", (_calling(Call(UNKNOWN), Call()),)),
    Scenario("duplicate-ids", (Step((Call(), Call()), ids=Ids.SAME), _ONE)),
    Scenario("ids-that-come-back", (Step((Call(),), ids=Ids.REUSED), Step((Call(),), ids=Ids.REUSED))),
    Scenario("empty-ids", (Step((Call(), Call()), ids=Ids.EMPTY),)),
    Scenario("cut-call", (_after(Fault.CUT),)),
    Scenario("cut-call-that-parses", (_after(Fault.CUT_WHOLE),)),
    Scenario("cut-call-without-a-label", (_after(Fault.CUT_UNLABELLED),)),
    Scenario("empty-reply", (_ONE, Step(instead=(Fault.EMPTY,)))),
    Scenario("empty-for-ever", (Step(instead=(Fault.EMPTY,)),), endless=True),
    Scenario("error-then-answer", (_after(Fault.ERROR, Fault.RATE_LIMIT),)),
    Scenario("error-for-ever", (_after(Fault.ERROR),), endless=True),
    Scenario("overflow", (_ONE, Step(instead=(Fault.OVERFLOW,)))),
    Scenario("stall", (_after(Fault.STALL),)),
    Scenario("disconnect", (_ONE, _after(Fault.DISCONNECT))),
    Scenario("garbage", (_after(Fault.GARBAGE),)),
    Scenario("rounds-for-ever", (_ONE,), endless=True),
    Scenario("slow-tool", (_calling(Call(behaviour=Behaviour.SLOW)),)),
    Scenario("failing-tool", (_calling(Call(behaviour=Behaviour.FAILS), Call()),)),
    Scenario("lost-answer-of-a-tool", (_calling(Call(behaviour=Behaviour.LOST)),)),
    Scenario("tool-that-never-answers", (_calling(Call(behaviour=Behaviour.HANGS), Call()),)),
    Scenario("permission", (_calling(Call(GUARDED), Call()),)),
    Scenario("denial", (_calling(Call(GUARDED), Call()),), Act(Kind.DENY)),
    Scenario("cancel-in-stream", (_ONE, _ONE), Act(Kind.CANCEL, Moment.STREAM)),
    Scenario("cancel-in-tool", (_TWO, _ONE), Act(Kind.CANCEL, Moment.IN_DEED)),
    Scenario("kill-in-stream", (_ONE,), Act(Kind.KILL, Moment.STREAM)),
    Scenario("kill-before-deed", (_ONE,), Act(Kind.KILL, Moment.BEFORE_DEED)),
    Scenario("kill-in-deed", (_ONE,), Act(Kind.KILL, Moment.IN_DEED)),
    Scenario("kill-in-deed-of-two", (_TWO,), Act(Kind.KILL, Moment.IN_DEED)),
    Scenario("kill-after-deed", (_ONE, _ONE), Act(Kind.KILL, Moment.AFTER_DEED)),
    Scenario("kill-after-a-round", (_ONE, _ONE), Act(Kind.KILL, Moment.NEXT_REQUEST)),
)
"""The scenarios with names of their own; the first is the probe, without which the others say nothing."""

_FAULTS = (Fault.ERROR, Fault.RATE_LIMIT, Fault.GARBAGE, Fault.EMPTY, *CUTS)
_STEPS_MAX = 4
_CALLS_MAX = 3


def generated(seed: int, count: int) -> tuple[Scenario, ...]:
    """Return ``count`` scenarios made from a seed; the same seed gives the same ones."""
    return tuple(_generate(_chance(seed, number), f"generated-{number}") for number in range(1, count + 1))


def _chance(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed}/{number}")  # noqa: S311 - what can be made again is the point, not what is secret


def chosen(names: Sequence[str], seed: int, count: int) -> tuple[Scenario, ...]:
    """Return the scenarios of these names, or all where none are given; ``ValueError`` names one that there is not."""
    known = {each.name: each for each in (*NAMED, *generated(seed, max(count, _highest(names))))}
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"there is no scenario {missing[0]!r}; there are: {', '.join(known)}")
    return tuple(known[name] for name in names) if names else tuple(known.values())


def _highest(names: Sequence[str]) -> int:
    numbers = [name.removeprefix("generated-") for name in names]
    return max((int(each) for each in numbers if each.isascii() and each.isdigit() and len(each) < 5), default=0)  # noqa: PLR2004 - more would only be slow


def _generate(chance: random.Random, name: str) -> Scenario:
    steps = tuple(_step(chance) for _ in range(chance.randint(1, _STEPS_MAX)))
    act = _act(chance, len(steps)) if chance.random() < 0.4 else None  # noqa: PLR2004 - most are without an act
    return Scenario(name, steps, act)


def _step(chance: random.Random) -> Step:
    calls = tuple(_call(chance) for _ in range(chance.randint(1, _CALLS_MAX)))
    faults = tuple(chance.choice(_FAULTS) for _ in range(chance.choice((0, 0, 0, 1))))
    ids = chance.choice((*[Ids.FRESH] * 5, Ids.SAME, Ids.REUSED, Ids.EMPTY))
    return Step(calls, ids, labelled_stop=chance.choice((False, False, True)), instead=faults)


def _call(chance: random.Random) -> Call:
    tool = chance.choice((*["record"] * 5, GUARDED, UNKNOWN))
    form = chance.choice((*[Form.GOOD] * 6, *Form))
    behaviour = chance.choice((*[Behaviour.QUICK] * 6, Behaviour.SLOW, Behaviour.FAILS, Behaviour.LOST))
    return Call(tool, form, behaviour)


def _act(chance: random.Random, steps: int) -> Act:
    kind, step = chance.choice(tuple(Kind)), chance.randrange(steps)
    if kind is Kind.DENY:
        return Act(kind)
    moments = tuple(Moment) if kind is Kind.KILL else (Moment.STREAM, Moment.IN_DEED)
    return Act(kind, chance.choice(moments), step)
