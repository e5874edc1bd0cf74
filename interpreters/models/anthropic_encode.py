"""The dialect of Anthropic messages, written: the body of a request, made from our history.

``writing`` has the rules that hold for every dialect, ``anthropic_turns`` how messages become turns. Of this one:

1. A bound of the answer's tokens has to be sent. Where none is given it is the one of ``OUTPUT_TOKENS`` that the model
   is known to bear; a budget for thinking comes on top of it.
2. A tool choice is an object here, and the switch for parallel calls is a part of it. Without tools neither is sent.
3. Where a cache is asked for and hints are understood, four places are marked: the tools, the instructions, the end of
   the request, and the end of the one before, where a provider that looks back only so far still finds it. A host that
   marks parts itself marks all of them: lifetimes have an order among them that two hands would break.
4. Thinking by a fixed budget cannot begin between a call and its result: there it is not asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentcore.policy import ToolContract
from agentcore.projections import RequestView
from interpreters.models.anthropic_turns import RESULT_KIND, THINKING_KINDS, Writer
from interpreters.models.profiles import DEFAULT, Profile
from interpreters.models.reading import object_of
from interpreters.models.writing import Json, Options, read_options, with_rest

VERSION = "2023-06-01"
"""Version of the interface, sent in the header ``anthropic-version``."""

OUTPUT_TOKENS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"claude-(2|instant|3-(opus|sonnet|haiku))"), 4096),
    (re.compile(r"claude-3-5"), 8192),
    (re.compile(r"claude"), 16_384),
    (re.compile(r""), 8192),
)
"""Bounds of an answer's tokens by the model's name, the first that fits. Newer models of Anthropic bear more; what
others serve under this dialect may not."""

_CHOICES: Mapping[str, str] = {"auto": "auto", "required": "any", "any": "any", "none": "none"}


def encode_anthropic(view: RequestView, model: str, profile: Profile = DEFAULT) -> Json:
    """Return the body of a request to ``model``; ``ValueError`` where ``settings.options`` is no JSON object."""
    options = read_options(view.settings)
    turns = Writer(model, profile).turns(view)
    body: Json = {"model": model, "max_tokens": options.max_tokens or _output_tokens(model, options)}
    if view.instructions.strip():
        body["system"] = [{"type": "text", "text": view.instructions}]
    if view.tools:
        body["tools"] = [_tool(contract) for contract in view.tools]
        body["tool_choice"] = _choice(options)
    body["container"] = turns.container
    body["messages"] = turns.finished()
    if options.rest.get("stream", True):
        body["stream"] = True
    own_marks = turns.marked or "cache_control" in options.rest
    if profile.cache_hints and options.cache_control and not own_marks:
        _mark(body, options.cache_control)
    whole = with_rest(body, options)
    if _thoughtless(whole):
        del whole["thinking"]
    return whole


def _output_tokens(model: str, options: Options) -> int:
    bound = next(tokens for pattern, tokens in OUTPUT_TOKENS if pattern.search(model))
    thinking = options.rest.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return bound + budget if isinstance(budget, int) else bound


def _tool(contract: ToolContract) -> Json:
    found: Json = {
        "name": contract.name,
        "input_schema": {"type": "object"} | object_of(json.loads(contract.parameters)),
    }
    if contract.description:
        found["description"] = contract.description
    return found


def _choice(options: Options) -> Any:
    """Return the tool choice, the switch for parallel calls within it; ``None`` to say nothing."""
    choice = options.tool_choice
    if options.forced:
        choice = {"type": "tool", "name": options.forced}
    elif isinstance(choice, str):
        choice = {"type": _CHOICES.get(choice, choice)}
    if options.parallel is None:
        return choice
    told = choice if isinstance(choice, dict) else {"type": "auto"}
    return told if told.get("type") == "none" else told | {"disable_parallel_tool_use": not options.parallel}


def _thoughtless(body: Json) -> bool:
    """Say whether thinking is asked for while results are given to a model that did not think before its calls."""
    if object_of(body.get("thinking")).get("type") != "enabled":
        return False
    *before, last = body["messages"]
    in_loop = bool(before) and any(block["type"] == RESULT_KIND for block in last["content"])
    return in_loop and before[-1]["content"][0]["type"] not in THINKING_KINDS


def _mark(body: Json, hint: Json) -> None:
    """Put the hint on the ends of what stays the same."""
    for blocks in _lasting(body):
        last = next((block for block in reversed(blocks) if block.get("type") not in THINKING_KINDS), None)
        if last is not None:
            last["cache_control"] = dict(hint)


def _lasting(body: Json) -> Iterator[list[Json]]:
    yield body.get("tools", [])
    yield body.get("system", [])
    yield from _ends(body["messages"])


def _ends(messages: Iterable[Json]) -> list[list[Json]]:
    """Return the content of the last turn, and of the last one of the user's side before it."""
    *before, last = messages
    users = [turn["content"] for turn in before if turn["role"] == "user"]
    return [*users[-1:], last["content"]]
