"""What a model says, and what an imported history holds: sound mostly, broken in every way that is known otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcore.messages import (
    AssistantMessage,
    AssistantPart,
    FinishReason,
    MediaPart,
    Message,
    MessageSource,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
)
from agentcore.states import State
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.kinds import roll

SOUND = ("{}", '{"path":"a"}', '{"path":"b"}')
"""Arguments that can be read."""
BROKEN = ('{"path":', "nothing", "[1]", '{"x":NaN}', '{"x":1,"x":2}', "")
"""Arguments that end early, are wrong, or are missing."""


def roll_parts(state: State, dice: Dice) -> tuple[AssistantPart, ...]:
    """Return what a model answers: text, calls of tools that exist or not, something odd; or nothing, over and over."""
    used = state.turn.counters
    stuck = used.empty_replies + used.think_only > 0
    return _ANSWERS[dice.weighed({"text": 6, "calls": 12, "odd": 2, "nothing": 20 if stuck else 1})](state, dice)


def _text(_state: State, _dice: Dice) -> tuple[AssistantPart, ...]:
    return (TextPart("Done."),)


def _calls(state: State, dice: Dice) -> tuple[AssistantPart, ...]:
    before = (TextPart("I will."),) if dice.once_in(4) else ()
    return (*before, *(_call(state, dice, place) for place in range(1 + dice.below(3))))


def _call(state: State, dice: Dice, place: int) -> ToolCallPart:
    names = [tool.name for tool in state.config.tools]
    name = "missing" if not names or dice.once_in(20) else dice.pick(names)
    arguments = dice.pick(BROKEN) if dice.once_in(15) else dice.pick(SOUND)
    provider_id = dice.pick(("", "p0")) if dice.once_in(12) else f"p{place}"
    return ToolCallPart(provider_id, name, arguments)


def _odd(_state: State, dice: Dice) -> tuple[AssistantPart, ...]:
    return dice.pick(
        (
            (MediaPart("image/png", "AAAA"),),
            (OpaquePart('{"kept":true}'),),
            (ToolCallPart("s0", "search", "{}", provider_executed=True), TextPart("Found.")),
        )
    )


def _nothing(_state: State, dice: Dice) -> tuple[AssistantPart, ...]:
    return dice.pick(((), (ReasoningPart("Hm."),), (TextPart("</think>"),)))


_ANSWERS: Mapping[str, Callable[[State, Dice], tuple[AssistantPart, ...]]] = {
    "text": _text,
    "calls": _calls,
    "odd": _odd,
    "nothing": _nothing,
}


def roll_finish(dice: Dice) -> FinishReason:
    """Return the label of an answer; the common ones more often."""
    return dice.weighed({**dict.fromkeys(FinishReason, 1), FinishReason.STOP: 20, FinishReason.TOOL_CALLS: 10})


def roll_history(state: State, dice: Dice) -> tuple[Message, ...]:
    """Return a history from elsewhere, sometimes with calls without results and results without calls."""
    messages: list[Message] = []
    for turn in range(dice.below(3)):
        messages.append(UserMessage(f"old-{state.seq}-{turn}", MessageSource.PROMPT, (TextPart("Hello."),)))
        messages.append(AssistantMessage("", 0, 0, roll_parts(state, dice), roll_finish(dice)))
        if dice.once_in(2):
            messages.append(roll(ToolMessage, dice))
    return tuple(messages)
