"""The vocabulary is closed, and every word of it has a user.

Each test comes into force when the modules that it speaks of are there.
"""

from __future__ import annotations

import ast
import enum
import importlib
import importlib.util
import inspect
import types
from collections import Counter
from collections.abc import Iterator

import attrs
import pytest

from tests.meta.tree import ROOT, at, core, name_of, nothing, parse, sources


def module(name: str) -> types.ModuleType | None:
    """A module of the project, or ``None`` while there is none."""
    place = ROOT / name.replace(".", "/")
    return importlib.import_module(name) if place.is_dir() or place.with_suffix(".py").exists() else None


events, commands, states = module("agentcore.events"), module("agentcore.commands"), module("agentcore.states")
engine = module("interpreters.engine")
reduction = module("agentcore.reduce")


def members(union: types.UnionType) -> set[type]:
    return set(union.__args__)


def defined_below(package: str) -> Iterator[type]:
    """Every attrs class that stands in the source of a package, private ones too."""
    for path in sources(f"agentcore/{package}", f"agentcore/{package}.py"):
        name = name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            if kind.__module__ == name and attrs.has(kind):
                yield kind


@pytest.mark.req("R-009")
def test_what_hosts_say_and_what_answers_a_command_is_all_there_is():
    answers = {event for events in commands.ANSWERS.values() for event in events}
    assert set(events.HOST_EVENTS) | answers == members(events.Event)


@pytest.mark.req("R-008", "D-25")
def test_commands_are_closed_and_the_four_fixed_ones_have_their_tags():
    assert set(commands.ANSWERS) == set(commands.COMMANDS) == set(commands.TAGS) == members(commands.Command)
    assert len(set(commands.TAGS.values())) == len(commands.TAGS)
    fixed = {"RequestModel", "ExecuteTool", "InspectEffect", "PersistCheckpoint"}
    tags = {tag for kind, tag in commands.TAGS.items() if kind.__name__ in fixed}
    assert tags == {"request-model", "execute-tool", "inspect-effect", "persist-checkpoint"}


@pytest.mark.req("R-053")
def test_every_class_with_a_time_in_the_events_is_an_event_and_frozen():
    timed = {kind for kind in defined_below("events") if "at" in attrs.fields_dict(kind)}
    assert timed == members(events.Event)
    nothing(kind.__name__ for kind in timed if attrs.fields_dict(kind)["at"].type not in {int, "int"})


@pytest.mark.req("R-046")
def test_every_value_of_the_vocabulary_is_frozen():
    wrong = []
    for path in core():
        for node in ast.walk(parse(path)):
            for decorator in getattr(node, "decorator_list", ()):
                text = ast.unparse(decorator)
                if text.startswith(("attrs.", "dataclass", "dataclasses.")) and not text.startswith("attrs.frozen"):
                    wrong.append(f"{at(path, node)} {text}")
    nothing(wrong)


@pytest.mark.req("R-033", "R-043")
def test_every_phase_and_call_state_says_why_it_was_entered():
    if states is None:
        return
    nothing(
        kind.__name__
        for kind in (*members(states.Phase), *members(states.CallState))
        if "transition" not in attrs.fields_dict(kind)
    )


@pytest.mark.req("R-034")
def test_no_state_is_told_apart_by_a_pile_of_booleans():
    """Two booleans may be facts about a state; three would be eight states under one name."""
    if states is None:
        return
    nothing(
        kind.__name__
        for kind in (*members(states.Phase), *members(states.CallState))
        if sum(field.type in {bool, "bool"} for field in attrs.fields(kind)) > 2
    )


def loaded_names(*folders: str) -> Counter[str]:
    """How often each identifier is used, not defined, in files: names, attributes, imports, keywords and patterns."""
    counts: Counter[str] = Counter()
    for path in sources(*folders):
        for node in ast.walk(parse(path)):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                    counts[name] += 1
                case ast.MatchClass(kwd_attrs=names):
                    counts.update(names)
    return counts


@pytest.mark.req("R-039", "D-12")
def test_every_field_of_the_vocabulary_is_read_somewhere():
    if reduction is None or engine is None:
        return
    read = loaded_names("agentcore", "interpreters")
    nothing(
        f"{kind.__module__}.{kind.__name__}.{field.name}"
        for package in ("events", "states", "commands", "messages", "rejections", "policy", "limits")
        for kind in defined_below(package)
        for field in attrs.fields(kind)
        if not read[field.name]
    )


@pytest.mark.req("R-039")
def test_every_value_of_an_enum_of_the_core_is_used_somewhere():
    if reduction is None or engine is None:
        return
    read = loaded_names("agentcore", "interpreters")
    kinds = {
        kind
        for package in ("events", "states", "commands", "messages", "rejections", "policy", "limits")
        if (found := module(f"agentcore.{package}"))
        for _, kind in inspect.getmembers(found, inspect.isclass)
        if issubclass(kind, enum.Enum) and kind.__module__.startswith("agentcore.")
    }
    nothing(f"{kind.__name__}.{each.name}" for kind in kinds for each in kind if not read[each.name])


SURFACES = (
    "agentcore",
    "agentcore.projections",
    "agentcore.testing",
    "agentcore.testing.protocol",
    "agentcore.testing.strategies",
    "interpreters",
    "interpreters.scripted",
)
"""Packages whose top is for those outside."""


@pytest.mark.req("R-039")
def test_every_public_function_and_class_has_a_user():
    """It is used in the packages, exported at the top of one for those outside, or a decorator has taken it up."""
    if reduction is None or module("interpreters.cli") is None:
        return
    used = loaded_names("agentcore", "interpreters")
    exported = {name for package in SURFACES for name in surface(package)}
    nothing(
        f"{at(path, node)} {node.name}"
        for path in sources("agentcore", "interpreters")
        for node in parse(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not used[node.name]
        and node.name not in (*exported, "__getattr__")
        and (isinstance(node, ast.ClassDef) or not node.decorator_list)
    )


def surface(package: str) -> tuple[str, ...]:
    found = module(package)
    return tuple(getattr(found, "__all__", ())) if found else ()


def command_cases() -> Iterator[tuple[str, str]]:
    """Each place in the interpreters that takes up a command: a ``case`` of a match, or a row of a dispatch table."""
    names = {kind.__name__ for kind in commands.COMMANDS}
    for path in sources("interpreters"):
        for node in ast.walk(parse(path)):
            heads: list[ast.expr] = []
            if isinstance(node, ast.MatchClass):
                heads = [node.cls]
            elif isinstance(node, ast.Dict):
                heads = [key for key in node.keys if key is not None]
            for head in heads:
                name = ast.unparse(head).rpartition(".")[2]
                if name in names:
                    yield name, at(path, node)


def test_every_command_is_executed_in_exactly_one_place():
    if engine is None:
        return
    places: dict[str, list[str]] = {kind.__name__: [] for kind in commands.COMMANDS}
    for name, place in command_cases():
        places[name].append(place)
    nothing(f"{name}: {found}" for name, found in places.items() if len(found) != 1)


def test_every_answer_is_constructed_by_an_interpreter():
    if engine is None:
        return
    made = {
        ast.unparse(node.func).rpartition(".")[2]
        for path in sources("interpreters")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
    }
    nothing(sorted(kind.__name__ for kind in members(events.Event) if kind.__name__ not in made))
