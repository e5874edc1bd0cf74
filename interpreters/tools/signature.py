"""The JSON schema of a function's arguments, read from its signature and docstring.

Annotations become types, defaults make a parameter optional, ``Annotated[T, "words"]`` or the docstring (``Args:`` of
the Google form, or ``:param name:``) describes it. What cannot be told to a model is refused when the tool is made.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import attrs
import msgspec

from interpreters.tools.context import ToolContext
from interpreters.tools.errors import ToolDefinitionError

_NAME = "__arguments__"


@attrs.frozen
class Signature:
    """What a function tells about itself."""

    description: str
    """Its docstring without the part about parameters."""
    schema: Mapping[str, Any]
    """JSON schema of its arguments."""
    struct: type[msgspec.Struct]
    """The arguments as a class, to convert JSON values into what the function is annotated with."""
    context: str | None
    """Name of the parameter that takes a ``ToolContext``."""


def read_signature(name: str, function: Callable[..., Any]) -> Signature:
    """Read a function; ``ToolDefinitionError`` names the tool, the parameter and what to do."""
    hints = _hints(name, function)
    text, described = read_docstring(inspect.getdoc(function) or "")
    context, fields, extras = None, [], {}
    for parameter in inspect.signature(function).parameters.values():
        hint = _hint(name, parameter, hints)
        if _is_context(hint):
            context = parameter.name
            continue
        _check_type(name, parameter.name, hint)
        fields.append(_field(parameter, hint))
        extras[parameter.name] = _extras(parameter, hint, described.get(parameter.name, ""))
    struct = msgspec.defstruct(_NAME, fields, kw_only=True, forbid_unknown_fields=True)
    return Signature(text, _schema(struct, extras), struct, context)


def find_context(function: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that takes a ``ToolContext``, if there is one."""
    hints = _hints(getattr(function, "__name__", "?"), function)
    return next((name for name in inspect.signature(function).parameters if _is_context(hints.get(name))), None)


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004 - the method carries the annotations
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        advice = "import it at the top of its module, or give the schema with parameters="
        raise ToolDefinitionError(f"tool {name!r}: an annotation cannot be resolved ({error}): {advice}") from error


def _hint(name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    where = f"tool {name!r}, parameter {parameter.name!r}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ToolDefinitionError(f"{where}: arguments are passed by name, so it cannot be *, ** or positional-only")
    if parameter.name not in hints:
        raise ToolDefinitionError(f"{where}: annotate it with a type, which tells the model what to pass")
    return hints[parameter.name]


def _is_context(hint: Any) -> bool:
    kinds = (hint, *typing.get_args(hint))
    return any(isinstance(kind, type) and issubclass(kind, ToolContext) for kind in kinds)


def _check_type(name: str, parameter: str, hint: Any) -> None:
    try:
        msgspec.json.schema(hint)
    except (TypeError, NameError) as error:
        cause = str(error).rsplit("\n", 1)[-1]
        advice = "use types that JSON has, dataclasses or enumerations of them, or give the schema with parameters="
        raise ToolDefinitionError(f"tool {name!r}, parameter {parameter!r}: {cause}: {advice}") from error


def _field(parameter: inspect.Parameter, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    """An optional parameter is left out of the call if the model leaves it out, so that its own default holds."""
    if parameter.default is parameter.empty:
        return parameter.name, hint
    return parameter.name, hint | msgspec.UnsetType, msgspec.UNSET


def _extras(parameter: inspect.Parameter, hint: Any, described: str) -> dict[str, Any]:
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    words = next((each for each in notes if isinstance(each, str)), described)
    extras: dict[str, Any] = {"description": words} if words else {}
    if parameter.default not in (parameter.empty, None):
        try:
            extras["default"] = msgspec.to_builtins(parameter.default)
        except TypeError:
            return extras
    return extras


def _schema(struct: type[msgspec.Struct], extras: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components((struct,), ref_template="#/$defs/{name}")
    schema: dict[str, Any] = components.pop(_NAME)
    schema.pop("title", None)
    for name, extra in extras.items():
        schema["properties"][name] = {**schema["properties"][name], **extra}
    return {**schema, "$defs": components} if components else schema


_SECTION = re.compile(r"^(Args|Arguments|Parameters):[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^(?P<indent>[ \t]+)(?P<name>\w+)[ \t]*(?:\([^)]*\))?:[ \t]*(?P<words>.*)$")
_FIELD = re.compile(r"^:param[ \t]+(?:\w+[ \t]+)?(?P<name>\w+):[ \t]*(?P<words>.*)$", re.MULTILINE)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Part a docstring into what it says of the function and what of each parameter."""
    described = {found["name"]: found["words"].strip() for found in _FIELD.finditer(text)}
    text = _FIELD.sub("", text)
    section = _SECTION.search(text)
    if section is None:
        return text.strip(), described
    lines = text[section.end() :].strip("\n").split("\n")
    end = next((at for at, line in enumerate(lines) if line.strip() and not line[0].isspace()), len(lines))
    rest = "\n".join(lines[end:])
    return f"{text[: section.start()].rstrip()}\n\n{rest}".strip(), described | _items(lines[:end])


def _items(lines: list[str]) -> dict[str, str]:
    items: dict[str, str] = {}
    name, indent = "", ""
    for line in lines:
        found = _ITEM.match(line)
        if found and (not name or len(found["indent"]) <= len(indent)):
            name, indent = found["name"], found["indent"]
            items[name] = found["words"].strip()
        elif name:
            items[name] = f"{items[name]} {line.strip()}".strip()
    return items
