"""``@tool``: a function, made known to a model and to the protocol.

A plain function is ``opaque``: nobody can ask what became of it, so an execution without an end is a question to a
person. Say what the effect is, and how to look, and the program can find out by itself.
"""

from __future__ import annotations

import inspect as inspection
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypedDict, Unpack, overload

import attrs
import msgspec

from agentcore.messages import canonical_json
from agentcore.policy import Absent, Effect, ToolContract
from interpreters.support.arguments import check_schema
from interpreters.tools.context import ToolContext
from interpreters.tools.errors import ToolDefinitionError, ToolError
from interpreters.tools.findings import Found
from interpreters.tools.signature import find_context, read_signature

Inspect = Callable[[dict[str, Any], ToolContext], Found | Awaitable[Found]]
"""Looks what became of an attempt, given its arguments and its context; sync or async."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@attrs.frozen(eq=False)
class Tool:
    """A function with its contract. Calling it calls the function."""

    contract: ToolContract
    """What the core knows of it."""
    function: Callable[..., Any]
    """What runs."""
    inspect: Inspect | None = None
    """How to look what became of an attempt."""
    context: str | None = None
    """The parameter that takes the context."""
    struct: type[msgspec.Struct] | None = None
    """The arguments as a class; ``None`` where the schema was given and values are passed as JSON has them."""
    announces: bool = False
    """It says itself when it has started, and with which handle."""
    stops_itself: bool = False
    """It watches ``context.cancelled()`` and is not cancelled from outside."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as if it had not been decorated."""
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.contract.name

    @property
    def in_thread(self) -> bool:
        """A sync function, which runs in a worker thread."""
        return not is_async(self.function)

    def bind(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Turn JSON arguments into those of the function; ``ToolError`` if they do not fit its annotations."""
        given = {self.context: context} if self.context else {}
        if self.struct is None:
            return {**arguments, **given}
        try:
            struct = msgspec.convert(_whole(dict(arguments)), self.struct)
        except msgspec.ValidationError as error:
            raise ToolError(f"the arguments of {self.name} do not fit: {error}", kind="arguments") from error
        values = {name: getattr(struct, name) for name in struct.__struct_fields__}
        return {name: value for name, value in values.items() if value is not msgspec.UNSET} | given


def _whole(value: Any) -> Any:
    """Write ``1.0`` as ``1``: JSON makes no difference, and some models do not either."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def is_async(function: Callable[..., Any]) -> bool:
    """Say whether calling it gives a coroutine."""
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's method decides, not whether it is callable
    return inspection.iscoroutinefunction(function) or inspection.iscoroutinefunction(called)


class ToolOptions(TypedDict, total=False):
    """What ``tool`` takes beside the function; everything has a default."""

    name: str
    """What the model calls it; the function's name."""
    description: str
    """For the model; the docstring."""
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, which are then passed by name as JSON has them; read from the signature."""
    effect: Effect | str
    """What it does to the world; ``opaque``."""
    inspect: Inspect
    """How to look what became of an attempt; for ``fenceable`` and ``inspectable``, which need it."""
    timeout: float
    """Deadline of one execution in seconds; else ``Limits.tool_ms``."""
    acts_within: float
    """How long an attempt can still act, in seconds; for ``inspectable``, which needs it."""
    exclusive: bool
    """Runs only while no other call does."""
    absent_after_resume: Absent
    """What to do after a proved absence of an attempt that a resume made unknown; ``retry``."""
    absent_otherwise: Absent
    """What to do after any other proved absence; ``report``."""
    detached: bool
    """May answer with ``context.detach`` and go on in the background."""
    required: bool
    """The turn may not complete before the detached task has settled."""
    on_failure: Literal["degrade", "block"]
    """Whether an end without success lets the turn go on; ``degrade``."""
    completes: bool
    """It is the explicit completion tool."""
    announces: bool
    """It calls ``context.started(handle)`` itself."""
    stops_itself: bool
    """It watches ``context.cancelled()``, and is not cancelled from outside."""


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a sync or async function: ``@tool`` or ``@tool(effect="pure", timeout=5)``.

    ``ToolDefinitionError`` says at which tool and parameter something is wrong, and what to do about it.
    """

    def make(target: Callable[..., Any]) -> Tool:
        return _make(target, options)

    return make if function is None else make(function)


def _make(function: Callable[..., Any], options: ToolOptions) -> Tool:
    name = _name_of(function, options)
    if inspection.isasyncgenfunction(function) or inspection.isgeneratorfunction(function):
        raise ToolDefinitionError(f"tool {name!r}: a generator has no one result: return it, and use context.progress")
    parameters = options.get("parameters")
    if parameters is None:
        signature = read_signature(name, function)
        parameters, struct, context = signature.schema, signature.struct, signature.context
        described = signature.description
    else:
        struct, context, described = None, find_context(function), inspection.getdoc(function) or ""
    if context is None and options.get("effect") == Effect.KEYED:
        advice = "take a parameter annotated with ToolContext and pass its effect_key on"
        raise ToolDefinitionError(f"tool {name!r}: effect 'keyed' is nothing without the key: {advice}")
    return Tool(
        contract=_contract(name, options.get("description", described), parameters, options),
        function=function,
        inspect=options.get("inspect"),
        context=context,
        struct=struct,
        announces=options.get("announces", False),
        stops_itself=options.get("stops_itself", False),
    )


def _name_of(function: Callable[..., Any], options: ToolOptions) -> str:
    name = options.get("name", str(getattr(function, "__name__", "")))
    if not callable(function):
        raise ToolDefinitionError(f"@tool was given {type(function).__name__}, expected a function")
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(f"{name!r} cannot name a tool: give name= of 1 to 64 letters, digits, _ or -")
    return name


def _contract(name: str, description: str, parameters: Mapping[str, Any], options: ToolOptions) -> ToolContract:
    effect = _effect(name, options.get("effect", Effect.OPAQUE))
    _check_effect(name, effect, options)
    given: dict[str, Any] = {key: value for key, value in options.items() if key in _PASSED_ON}
    try:
        schema = canonical_json(dict(parameters))
        check_schema(schema)
    except (ValueError, TypeError) as error:
        raise ToolDefinitionError(f"tool {name!r}: its parameters are no usable JSON schema: {error}") from error
    try:
        return ToolContract(
            name=name,
            effect=effect,
            description=description,
            parameters=schema,
            timeout_ms=_milliseconds(name, "timeout", options.get("timeout")),
            acts_within_ms=_milliseconds(name, "acts_within", options.get("acts_within")),
            **given,
        )
    except ValueError as error:  # the contract found a contradiction, and names the tool itself
        raise ToolDefinitionError(str(error)) from error


_PASSED_ON = (
    "exclusive",
    "absent_after_resume",
    "absent_otherwise",
    "detached",
    "required",
    "on_failure",
    "completes",
)


def _effect(name: str, effect: Effect | str) -> Effect:
    try:
        return Effect(effect)
    except ValueError as error:
        known = ", ".join(Effect)
        raise ToolDefinitionError(f"tool {name!r}: there is no effect {effect!r}; use one of {known}") from error


def _check_effect(name: str, effect: Effect, options: ToolOptions) -> None:
    """An effect promises how to look; each contradiction has its own advice."""
    looks = effect in {Effect.FENCEABLE, Effect.INSPECTABLE}
    if looks and "inspect" not in options:
        raise ToolDefinitionError(f"tool {name!r}: effect {effect.value!r} needs inspect=, which looks what happened")
    if not looks and "inspect" in options:
        advice = "it only reads" if effect is Effect.PURE else "declare it 'fenceable' or 'inspectable'"
        raise ToolDefinitionError(f"tool {name!r}: effect {effect.value!r} is never inspected: {advice}")
    if (effect is Effect.INSPECTABLE) != ("acts_within" in options):
        advice = "which needs it: how many seconds after its start an attempt can still act"
        raise ToolDefinitionError(f"tool {name!r}: acts_within= belongs to effect 'inspectable', {advice}")


def _milliseconds(name: str, what: str, seconds: Any) -> int | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise ToolDefinitionError(f"tool {name!r}: {what}={seconds!r}: expected a positive number of seconds")
    return max(1, round(seconds * 1000))
