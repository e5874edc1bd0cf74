"""After-tool: the host may clean every text of a tool before it is stored, shown, and read by the model (R-121).

A hook that fails withholds the text and says so. It never turns a deed into a failure: the class of the event, and so
what it claims about the effect, stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import attrs

from agentcore.events import (
    EffectInspected,
    Event,
    TaskSettled,
    TaskStarted,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolSucceeded,
)
from agentcore.messages import clean_text
from agentcore.states import Call
from interpreters.engine.hooks import HookTrace, ToolText
from interpreters.engine.seam import describe

TEXTS: Mapping[type[Any], tuple[str, ...]] = {
    ToolSucceeded: ("result", "summary"),
    ToolFailed: ("error",),
    ToolLost: ("cause", "target", "observation"),
    ToolProgressed: ("observation",),
    TaskStarted: ("result",),
    TaskSettled: ("result",),
    EffectInspected: ("result", "evidence"),
}
"""Where a tool's own words stand in its answers."""

AfterTool = Callable[[ToolText], str]
"""The hook; a plain function, because what a tool says on the way cannot wait."""


def clean_answer(hook: AfterTool | None, trace: HookTrace, call: Call, event: Event) -> Event:
    """Return the answer with every text as the hook wants it."""
    if hook is None:
        return event
    texts = {field: getattr(event, field) for field in TEXTS.get(type(event), ())}
    changes = {field: clean(hook, trace, call, text) for field, text in texts.items() if text}
    cleaned: Event = attrs.evolve(cast("Any", event), **changes)
    return cleaned


def clean(hook: AfterTool, trace: HookTrace, call: Call, text: str) -> str:
    """Return one text as the hook wants it, or a remark in its place if the hook failed."""

    def work() -> str:
        cleaned = hook(ToolText(call.call_id, call.name, text))
        if not isinstance(cleaned, str):
            raise TypeError(f"the hook returned {type(cleaned).__name__}, expected str")
        return clean_text(cleaned)

    try:
        return trace.call_now("after-tool", call.call_id, work, partial(_changed, text))
    except Exception as error:  # noqa: BLE001 - a hook of the host may raise anything, and the deed stays done
        return f"(withheld: the host's after-tool hook failed: {describe(error)})"


def _changed(text: str, cleaned: str) -> str:
    return "nothing" if cleaned == text else f"{len(text)} characters became {len(cleaned)}"
