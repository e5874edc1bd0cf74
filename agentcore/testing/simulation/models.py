"""Models that follow the protocol, ignore it, or abuse it, each under a name.

``MANNERS`` has one line for each way in which a model may reply. None of them is impossible for a provider: each was
seen, or follows from what models are free to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcore.messages import FinishReason, MediaPart, ReasoningPart, TextPart, ToolCallPart
from agentcore.policy import Config
from agentcore.testing.script import Reply
from agentcore.testing.strategies.dice import Dice

Manner = Callable[[Config, Dice], Reply]
"""Makes one reply under a configuration."""

_ARGUMENTS = ("{}", '{"path":"a"}', '{"path":"b"}')
_SLIPS = ('{"path":"a"}{"path":"b"}', "nothing", "[1]", '{"x":NaN}', '{"path":"a",}', "")


def call(config: Config, dice: Dice, place: int, *, arguments: str = "") -> ToolCallPart:
    """Return a call of some tool that exists, or of a missing one where there is none."""
    name = dice.pick([tool.name for tool in config.tools] or ["missing"])
    return ToolCallPart(f"p{place}", name, arguments or dice.pick(_ARGUMENTS))


def _answers(_config: Config, _dice: Dice) -> Reply:
    return Reply((TextPart("Done."),))


def _calls(config: Config, dice: Dice) -> Reply:
    parts = tuple(call(config, dice, place) for place in range(1 + dice.below(3)))
    return Reply(parts, FinishReason.TOOL_CALLS)


def _repeats(config: Config, dice: Dice) -> Reply:
    """Ask for the same thing several times, under one provider id or under none."""
    one = call(config, dice, 0)
    bare = ToolCallPart("", one.name, one.arguments)
    return Reply((one, dice.pick((one, bare)), bare), FinishReason.TOOL_CALLS)


def _says_nothing(_config: Config, dice: Dice) -> Reply:
    return dice.pick(
        (Reply(()), Reply((ReasoningPart("Hm."),)), Reply((TextPart(" \n"),)), Reply((TextPart("\u200b"),)))
    )


def _stops_midway(config: Config, dice: Dice) -> Reply:
    whole = call(config, dice, 0)
    half = ToolCallPart("p1", whole.name, '{"path":')
    return Reply(dice.pick(((whole, half), (whole,), (TextPart("So"),))), FinishReason.LENGTH)


def _breaks_off(config: Config, dice: Dice) -> Reply:
    """End arguments early under a label that says that all is well."""
    return Reply((call(config, dice, 0), call(config, dice, 1, arguments='{"path":')), FinishReason.TOOL_CALLS)


def _slips(config: Config, dice: Dice) -> Reply:
    slip = call(config, dice, 0)
    return Reply((ToolCallPart("p0", slip.name, dice.pick(_SLIPS)), call(config, dice, 1)), FinishReason.TOOL_CALLS)


def _invents(_config: Config, dice: Dice) -> Reply:
    return Reply((ToolCallPart("p0", dice.pick(("missing", "", "a b")), "{}"),), FinishReason.TOOL_CALLS)


def _mislabels(config: Config, dice: Dice) -> Reply:
    """Call under a label that has no calls, or answer under one that has."""
    label = dice.pick((FinishReason.STOP, FinishReason.UNKNOWN, FinishReason.REFUSAL, FinishReason.CONTENT_FILTER))
    told = (TextPart("Done."),)
    return dice.pick(
        (Reply((*told, call(config, dice, 0)), label), Reply(told, FinishReason.TOOL_CALLS), Reply(told, label))
    )


def _talks_on(config: Config, dice: Dice) -> Reply:
    """Write behind its calls, with parts that nobody asked for and a call that the provider ran itself."""
    ran = ToolCallPart("s0", "search", "{}", provider_executed=True)
    media = MediaPart("image/png", "AAAA")
    return Reply((call(config, dice, 0), ran, TextPart("And so on."), media, call(config, dice, 1)), FinishReason.STOP)


def _floods(config: Config, dice: Dice) -> Reply:
    return Reply(tuple(call(config, dice, place) for place in range(9)), FinishReason.TOOL_CALLS)


def _completes(config: Config, _dice: Dice) -> Reply:
    """Call the tool by which a turn is completed, where there is one."""
    name = next((tool.name for tool in config.tools if tool.completes), "")
    return Reply((ToolCallPart("p0", name, "{}"),), FinishReason.TOOL_CALLS) if name else Reply((TextPart("Done."),))


MANNERS: Mapping[str, Manner] = {
    "answers": _answers,
    "calls": _calls,
    "completes": _completes,
    "repeats": _repeats,
    "says nothing": _says_nothing,
    "stops midway": _stops_midway,
    "breaks off": _breaks_off,
    "slips": _slips,
    "invents": _invents,
    "mislabels": _mislabels,
    "talks on": _talks_on,
    "floods": _floods,
}
"""Every way in which a model may reply, the most harmless first."""


def calm_reply(config: Config, *, completes: bool) -> Reply:
    """Return what a model says that wants the turn to end."""
    return (MANNERS["completes"] if completes else MANNERS["answers"])(config, Dice(lambda _: 0))
