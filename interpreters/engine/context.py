"""What a context transform may do to a request, checked before it is sent (R-020).

1. The ledger stays balanced: every call of an assistant message has exactly one result, directly behind it and in the
   order of the calls (L11): dialects pair them by it.
2. The cached prefix stays: what the last request sent is sent again, except messages that the transform itself had put
   at the very end. So a reminder behind the last message is fine, and one in the middle of the past is not.

A request that breaks a rule is not sent: a provider would refuse the first, and quietly charge for the second.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from agentcore.messages import AssistantMessage, Message, ToolMessage
from agentcore.states import Window


class ContextRefused(ValueError):
    """A transformed context breaks a rule; the text says which and where."""


@attrs.frozen
class Sent:
    """What of the last request has to be sent again."""

    window: Window = attrs.field(factory=Window)
    """The window it was built from: another window is another prefix."""
    messages: tuple[Message, ...] = ()
    """The prefix."""


def check_transformed(
    original: tuple[Message, ...], transformed: tuple[Message, ...], window: Window, last: Sent
) -> Sent:
    """Return what the next request has to keep; raises ``ContextRefused``."""
    _check_ledger(transformed)
    if window == last.window:
        _check_prefix(transformed, last.messages)
    return Sent(window, _without_own_end(original, transformed))


def _check_prefix(transformed: tuple[Message, ...], prefix: tuple[Message, ...]) -> None:
    same = sum(1 for _ in _common(transformed, prefix))
    if same < len(prefix):
        raise ContextRefused(
            f"the cached prefix is broken at message {same} of {len(prefix)}: what the last request sent has to be "
            "sent again; put additions behind the last message"
        )


def _common(left: tuple[Message, ...], right: tuple[Message, ...]) -> Iterable[Message]:
    for mine, other in zip(left, right, strict=False):
        if mine is not other and mine != other:
            return
        yield mine


def _without_own_end(original: tuple[Message, ...], transformed: tuple[Message, ...]) -> tuple[Message, ...]:
    """Leave out what stands behind the newest message of the history; if that was rewritten, go by the number."""
    if not original:
        return ()
    newest = original[-1]
    for end in range(len(transformed), 0, -1):
        if transformed[end - 1] is newest or transformed[end - 1] == newest:
            return transformed[:end]
    return transformed[: len(original)]


def _check_ledger(messages: tuple[Message, ...]) -> None:
    for position, message in enumerate(messages):
        if not isinstance(message, Message):
            raise ContextRefused(f"message {position} is {type(message).__name__}, expected a message")
        behind = messages[position + 1] if position + 1 < len(messages) else None
        before = messages[position - 1] if position else None
        if isinstance(message, AssistantMessage) and message.calls:
            _check_answered(position, message, behind)
        if isinstance(message, ToolMessage) and not (isinstance(before, AssistantMessage) and before.calls):
            raise ContextRefused(f"message {position} holds results, but no call stands directly before it")


def _check_answered(position: int, message: AssistantMessage, behind: Message | None) -> None:
    asked = [call.provider_id for call in message.calls]
    answered = [result.provider_id for result in behind.results] if isinstance(behind, ToolMessage) else []
    if asked != answered:
        raise ContextRefused(
            f"message {position} asks for the calls {asked}, but the results directly behind it are for {answered}: "
            "each call needs exactly one, in the same order"
        )
