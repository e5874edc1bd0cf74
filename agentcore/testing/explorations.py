"""The explorations that are shipped, as data.

1. ``pairs``: every two of the ``FAULTS`` on one unsafe call.
2. ``alone``: each fault on an unsafe call beside a pure one, and on two unsafe ones.
3. ``kinds``: each kind of effect with what happens to it; keyed, fenceable, inspectable, opaque.
4. ``features``: everything that the faults leave out, so that each row of the tables is taken at least once.
5. ``triples``: every three of the faults on one unsafe call, for those who have the time.

Bounds are small: one extra try of each loop is enough to see it, and one more to see it end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import attrs

from agentcore.limits import Limits
from agentcore.messages import FinishReason, ReasoningPart, TextPart, ToolCallPart
from agentcore.policy import PRESETS, Config, Effect, Policy, ToolContract
from agentcore.testing.script import ANSWER, NOTHING, THOUGHT, UNSTATED, Exploration, Reply, calling, tool

FEW = Limits(
    model_retries=1,
    resumes=1,
    denials=1,
    inspections=1,
    effect_retries=1,
    checkpoint_retries=1,
    observations=1,
    changed_grants=1,
)
"""Bounds that are reached soon."""

FAULTS: Mapping[str, Mapping[str, int]] = {
    "crash": {"crash": 1},
    "second-crash": {"crash": 1},
    "checkpoint-failure": {"checkpoint-failure": 2},
    "approval": {"approval": 1},
    "denial": {"denial": 1},
    "steering": {"steering": 1},
    "follow-up": {"follow-up": 1},
    "abort": {"abort": 2},
    "model-failure": {"model-failure": 1},
    "truncation": {"truncation": 1},
    "overflow": {"overflow": 1},
    "zero-limit": {},
    "timer": {"timer": 1},
    "detached-task": {"detach": 1},
    "resolution": {"person": 1},
}
"""What may happen, and what it adds to the budget. A second crash alone is a crash, so it is only taken after one."""


def with_faults(names: tuple[str, ...], calls: tuple[str, ...], effect: Effect) -> Exploration:
    """Return the exploration of faults on a message that calls tools: ``writes`` has the effect, ``reads`` is pure."""
    budget: dict[str, int] = {}
    for name in names:
        for option, times in FAULTS[name].items():
            budget[option] = budget.get(option, 0) + times
    limits = attrs.evolve(FEW, tool_calls=0) if "zero-limit" in names else FEW
    tools = (tool("writes", effect, detached="detached-task" in names), tool("reads", Effect.PURE))
    title = "+".join((effect.value, *calls, *names))
    return Exploration(title, Config(tools=tools, limits=limits), ((calling(*calls),), (ANSWER,)), budget)


def together(count: int, effect: Effect, *calls: str) -> Iterator[Exploration]:
    """Yield every so many faults on calls."""
    for names in combinations(FAULTS, count):
        if "second-crash" not in names or "crash" in names:
            yield with_faults(names, calls, effect)


def kinds() -> Iterator[Exploration]:
    """Yield for each kind of effect what happens to one call of it, until it is found out or given up."""
    for effect in (Effect.OPAQUE, Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE):
        for options in (
            {"inspection": 1, "inquiry": 2},
            {"retry": 1, "person": 1},
            {"person": 1, "late-failure": 1},
            {"crash": 1},
            {"abort-call": 1, "inquiry": 1},
            {"abort": 2, "inquiry": 1},
            {"timer": 1} if effect is Effect.KEYED else {"timer": 1, "abort": 1},
            {"detach": 1, "abort-task": 1},
            {"detach": 1, "inspection": 1},
            {"detach": 1, "abort-all": 1 if effect is Effect.KEYED else 2},
            {"start": 1, "progress": 2},
            {"crash": 1, "tool-gone": 1},
        ):
            yield _on_one(effect, **options)
    yield _on_one(Effect.FENCEABLE, crash=1, damage=1)
    keyed = (tool("writes", Effect.KEYED, detached=True), READS)
    asked = {"approval": 1, "crash": 1}
    yield _feature("keyed-asked-again", ((calling("writes"),), (ANSWER,)), tools=keyed, budget=asked)
    both, first = ((calling("writes", "reads"),), (ANSWER,)), _limited(tool_calls=1)
    yield _feature(
        "keyed-beside-pure", both, tools=keyed, limits=first, policy=Policy(sequential=True), budget={"crash": 1}
    )
    yield _on_one(Effect.INSPECTABLE, crash=1, inquiry=1)


def _on_one(effect: Effect, **options: int) -> Exploration:
    budget = {name.replace("_", "-"): times for name, times in options.items()}
    tools = (tool("writes", effect, detached="detach" in budget),)
    title = "+".join((effect.value, *budget))
    return Exploration(title, Config(tools=tools, limits=FEW), ((calling("writes"),), (ANSWER,)), budget)


SMALL = Limits(
    **{
        **attrs.asdict(FEW),
        "completion_refusals": 1,
        "truncation_reissues": 1,
        "empty_replies": 1,
        "think_only": 1,
        "unknown_finishes": 1,
        "missing_completions": 1,
        "argument_repairs": 1,
        "unknown_tools": 1,
        "failing_rounds": 1,
        "identical_calls": 1,
    }
)
"""Every named loop goes round once more, and then ends."""

READS = tool("reads", Effect.PURE)
WRITES = tool("writes", Effect.FENCEABLE)
SUBMITS = tool("submits", Effect.PURE, completes=True)


def _feature(
    name: str,
    replies: tuple[tuple[Reply, ...], ...] = ((ANSWER,),),
    tools: tuple[ToolContract, ...] = (READS, WRITES),
    limits: Limits = SMALL,
    budget: Mapping[str, int] | None = None,
    **installed: Any,
) -> Exploration:
    return Exploration(name, Config(tools=tools, limits=limits, **installed), replies, budget or {})


def _limited(**values: Any) -> Limits:
    return attrs.evolve(SMALL, **values)


CALL = (calling("reads"),)
"""The model calls what only reads."""


def features() -> Iterator[Exploration]:
    """Yield what the faults leave out, one feature after the other."""
    yield from _of_the_request()
    yield from _of_the_answer()
    yield from _of_the_calls()
    yield from _of_the_session()


def _of_the_request() -> Iterator[Exploration]:
    """What happens between the beginning of a step and its reply."""
    yield _feature("stream", budget={"stream": 1, "model-failure": 2, "crash": 1})
    yield _feature("stream-timer", budget={"stream": 1, "timer": 2, "fatal": 1})
    yield _feature("fatal", budget={"fatal": 1})
    yield _feature("overflow", budget={"overflow": 2, "compaction-failure": 1, "abort": 1})
    yield _feature("overflow-crash", budget={"overflow": 1, "crash": 1, "stream": 1})
    yield _feature("overflow-steered", budget={"overflow": 1, "steering": 1, "stream": 1, "abort": 1})
    yield _feature("media", budget={"media": 2, "compaction-failure": 1, "timer": 1})
    threshold = _limited(compact_at_tokens=1)
    yield _feature("threshold", (CALL, (ANSWER,)), limits=threshold, budget={"compaction-failure": 1})
    yield _feature("threshold-fails", limits=threshold, budget={"overflow": 1, "crash": 1})
    yield _feature("prepared", prepares_steps=True, budget={"preparation-failure": 1, "crash": 1})
    yield _feature("prepared-aborted", prepares_steps=True, budget={"steering": 1, "abort": 1})
    yield _feature("prepared-timed", limits=_limited(turn_ms=10_000), prepares_steps=True, budget={"timer": 1})
    yield _feature("prepared-unsaved", prepares_steps=True, budget={"checkpoint-failure": 2, "import": 1})
    for bound in ("steps", "tokens", "cost_micros", "turn_ms", "tool_calls", "model_retries", "max_parallel"):
        zero = _limited(**{bound: 1 if bound == "max_parallel" else 0})
        yield _feature(f"zero-{bound}", (CALL, (ANSWER,)), limits=zero, budget={"model-failure": 1, "steering": 1})
    yield _feature("one-step", (CALL,), limits=_limited(steps=1))
    yield _feature("few-tokens", (CALL,), limits=_limited(tokens=20), budget={"model-failure": 1})
    timed = {"timer": 1, "approval": 1}
    yield _feature("turn-timed", (CALL, (ANSWER,)), limits=_limited(turn_ms=10_000, approval_ms=1_000), budget=timed)
    yield _feature(
        "retry-timed", limits=_limited(turn_ms=100), budget={"model-failure": 1, "overflow": 1, "timer": 1, "stream": 1}
    )


def _of_the_answer() -> Iterator[Exploration]:
    """What an answer without calls leads to."""
    yield _feature("nudges", ((NOTHING, THOUGHT, UNSTATED, ANSWER),), limits=_limited(steps=4))
    yield _feature("unstated", ((Reply((TextPart("So"),), FinishReason.PAUSE),),), budget={"steering": 1})
    yield _feature("filtered", ((Reply((TextPart("So"),), FinishReason.CONTENT_FILTER), NOTHING),))
    yield _feature("truncated", (CALL, (ANSWER,)), budget={"truncation": 2, "steering": 1})
    yield _feature("unsendable", (_SLIPS, (ANSWER,)), limits=_limited(argument_repairs=1))
    yield _feature("reviewed", reviews_completion=True, budget={"refusal": 2, "steering": 1})
    yield _feature("reviewed-aborted", reviews_completion=True, budget={"refusal": 1, "abort": 1})
    yield _feature("reviewed-crash", reviews_completion=True, budget={"crash": 1, "checkpoint-failure": 2})
    yield _feature("reviewed-timed", limits=_limited(turn_ms=9_000), reviews_completion=True, budget={"timer": 1})
    yield _feature("reviewed-stop", reviews_completion=True, budget={"abort-after-step": 1, "follow-up": 1})
    owed = Policy(completion_required=True)
    yield _feature("owed", ((ANSWER, calling("submits")),), tools=(SUBMITS,), policy=owed, limits=_limited(steps=4))
    yield _feature(
        "submits", ((calling("submits", "reads"),), (ANSWER,)), tools=(SUBMITS, READS), reviews_completion=True
    )
    hinted = _feature("terminates", (CALL, (ANSWER,)), budget={"follow-up": 1})
    yield attrs.evolve(hinted, terminates=True)


_READ = ToolCallPart("p0", "reads", "{}")
_SLIPS = (
    Reply((TextPart("First."), _READ, TextPart("And then."), _READ), FinishReason.TOOL_CALLS),
    calling("reads", arguments='{"a":1}{"b":2}'),
    calling("reads", arguments=" "),
    Reply((ReasoningPart("Hm."), TextPart(" ")), FinishReason.STOP),
    Reply((TextPart("No."), _READ), FinishReason.REFUSAL),
)
"""Messages that no provider takes back as they came."""

_ROUNDS: Mapping[str, Reply] = {
    "argument_repairs": calling("reads", arguments="{]"),
    "unknown_tools": calling("nothing"),
    "failing_rounds": calling("nothing"),
    "identical_calls": calling("reads"),
}
"""What is said again and again, by the bound that ends it."""


def _of_the_calls() -> Iterator[Exploration]:
    """What happens to calls, and what a batch leads to."""
    for bound, said in _ROUNDS.items():
        others = {name: None for name in _ROUNDS if name != bound}
        yield _feature(f"rounds-{bound}", ((said,),), limits=_limited(steps=3, **others))
    yield _feature("cut-arguments", ((calling("reads", arguments='{"a'), calling("reads")), (ANSWER,)))
    yield _feature("judged", (CALL, CALL, (ANSWER,)), budget={"refused-arguments": 2, "denial": 2, "danger": 1})
    asked = _limited(approval_ms=5_000)
    yield _feature("asked", (CALL, (ANSWER,)), limits=asked, budget={"approval": 3, "changed-grant": 2, "feedback": 1})
    yield _feature("asked-timed", (CALL, (ANSWER,)), limits=asked, budget={"approval": 1, "timer": 1, "abort-call": 1})
    yield _feature("asked-crash", (CALL, (ANSWER,)), limits=asked, budget={"approval": 2, "crash": 1, "denial": 1})
    yield _feature(
        "blocks", (CALL, (ANSWER,)), tools=(tool("reads", Effect.PURE, on_failure="block"),), budget={"denial": 1}
    )
    yield _feature("fatal-tool", (CALL, (ANSWER,)), budget={"fatal-tool": 1})
    strict = PRESETS["strict"].policy
    yield _feature("strict", (CALL, (ANSWER,)), policy=strict, budget={"approval": 1, "denial": 1, "feedback": 1})
    one = Policy(sequential=True)
    yield _feature("sequential", ((calling("reads", "writes"),), (ANSWER,)), policy=one, budget={"abort": 1})
    alone = tool("writes", Effect.FENCEABLE, exclusive=True)
    yield _feature("exclusive", ((calling("writes", "reads"),), (ANSWER,)), tools=(alone, READS))
    few = _limited(tool_calls=1)
    yield _feature("one-tool-call", ((calling("writes", "reads"),), (ANSWER,)), limits=few, budget={"retry": 1})
    yield _feature("stop-after-step", (CALL, (ANSWER,)), budget={"abort-after-step": 1, "follow-up": 1})
    yield _feature("pure", (CALL, (ANSWER,)), budget={"abort": 2, "timer": 1})
    yield _feature("pure-crash", (CALL, (ANSWER,)), budget={"abort": 1, "crash": 1})
    yield _feature("pure-started", (CALL, (ANSWER,)), budget={"start": 1, "progress": 1, "abort-call": 1})
    yield _feature("pure-gone", (CALL, (ANSWER,)), budget={"tool-gone": 1, "crash": 1})
    needed = tool("writes", Effect.FENCEABLE, detached=True, required=True, on_failure="block")
    task = ((calling("writes"),), (ANSWER,))
    yield _feature("required", task, tools=(needed,), budget={"detach": 1, "abort": 1})
    given_up = (tool("writes", Effect.OPAQUE, detached=True, required=True),)
    yield _feature("required-given-up", task, tools=given_up, budget={"detach": 1})
    yield _feature("required-steered", task, tools=(needed,), budget={"detach": 1, "steering": 1})
    yield _feature(
        "required-reviewed", task, tools=(needed,), reviews_completion=True, budget={"detach": 1, "crash": 1}
    )
    yield _feature("abort-one-of-two", ((calling("writes", "reads"),), (ANSWER,)), budget={"abort-call": 1})
    yield from _of_blocking()
    yield _feature("absent", ((calling("writes", "reads"),), (ANSWER,)), budget={"retry": 1, "inspection": 1})


def _of_blocking() -> Iterator[Exploration]:
    """A background task fails that may not, wherever the turn stands."""
    blocking = (tool("writes", Effect.FENCEABLE, detached=True, on_failure="block"), READS)
    task = ((calling("writes"),), (ANSWER,))
    for option in ("stream", "model-failure", "overflow", "abort-call"):
        yield _feature(f"blocking-{option}", task, tools=blocking, budget={"detach": 1, option: 1})
    yield _feature("blocking-prepared", task, tools=blocking, prepares_steps=True, budget={"detach": 1})
    yield _feature("blocking-reviewed", task, tools=blocking, reviews_completion=True, budget={"detach": 1})
    yield _feature("blocking-calls", ((calling("writes"),), CALL, (ANSWER,)), tools=blocking, budget={"detach": 1})


def _of_the_session() -> Iterator[Exploration]:
    """What a host does with a session as a whole."""
    talk = {"reopen": 1, "queued-prompt": 1, "steering": 1, "follow-up": 1, "withdrawal": 1, "abort": 1}
    yield _feature("talk", budget=talk)
    yield _feature("idle", budget={"reopen": 1, "prompt": 1, "import": 1, "clear": 1, "config": 1})
    yield _feature("idle-unsaved", budget={"reopen": 1, "import": 1, "checkpoint-failure": 1})
    yield _feature("idle-crash", budget={"reopen": 1, "import": 1, "abort-all": 1, "crash": 1})
    for name, option in (
        ("exhausted", {}),
        ("failed", {"fatal": 1}),
        ("cancelled", {"abort": 1}),
        ("denied", {"danger": 1}),
    ):
        steps = 0 if name == "exhausted" else 5
        after = {**option, "reopen": 1, "steering": 1}
        yield _feature(name, (CALL, (ANSWER,)), limits=_limited(steps=steps), budget=after)
        steps_of = _limited(steps=steps)
        yield _feature(f"{name}-crash", (CALL, (ANSWER,)), limits=steps_of, budget={**option, "crash": 1})
        unsaved = {**option, "checkpoint-failure": 2, "abort-all": 1}
        yield _feature(f"{name}-unsaved", (CALL, (ANSWER,)), limits=_limited(steps=steps), budget=unsaved)


def shipped() -> tuple[Exploration, ...]:
    """Return every exploration that is run by default."""
    one, pure, two = ("writes",), ("writes", "reads"), ("writes", "writes")
    unsafe = Effect.FENCEABLE
    return (
        *together(2, unsafe, *one),
        *together(1, unsafe, *pure),
        *together(1, unsafe, *two),
        *kinds(),
        *features(),
    )
