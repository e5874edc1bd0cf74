"""What the three dialects have in common: a reply to be written, and a request that was read.

Requests come from the program under test and are read without trust: whatever does not fit becomes a complaint, never
an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

Json = dict[str, Any]
"""A JSON object."""


@attrs.frozen
class WireCall:
    """A call as it goes over the wire, one way or the other."""

    id: str
    """The provider's id."""
    name: str
    """The tool, as the program calls it."""
    arguments: str
    """The arguments, as they are written."""


@attrs.frozen
class Reply:
    """What the model says."""

    id: str
    """Number of the answer."""
    text: str = ""
    """Its words."""
    calls: tuple[WireCall, ...] = ()
    """What it asks for."""
    cut: bool = False
    """It says that it was cut by the output limit."""
    labelled_stop: bool = False
    """It says that it is the end, whatever it asks for."""


@attrs.frozen
class WireResult:
    """The result of a call, as the program tells it."""

    call_id: str
    """Which call."""
    content: str
    """What the model is told."""


@attrs.frozen
class Item:
    """One message of a history: the words of a side, or the results of one batch."""

    role: str
    """``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """What is said."""
    calls: tuple[WireCall, ...] = ()
    """What is asked for."""
    results: tuple[WireResult, ...] = ()
    """What came of it."""


@attrs.frozen
class Asked:
    """A request, read."""

    items: tuple[Item, ...] = ()
    """The history, without the system's instructions."""
    tools: tuple[str, ...] = ()
    """Names of the tools that are offered."""
    stream: bool = False
    """The answer is wanted piece by piece."""
    complaints: tuple[str, ...] = ()
    """Why a provider would refuse it."""
    previous: str = ""
    """Id of the answer that this request goes on from, where the provider keeps the history."""


@attrs.frozen
class Refusal:
    """An answer that is none: status and words of an error."""

    status: int
    """HTTP status."""
    kind: str
    """The provider's name for it."""
    words: str
    """What it says."""


@attrs.frozen
class Dialect:
    """One provider's interface."""

    name: str
    """``chat``, ``responses`` or ``anthropic``."""
    path: str
    """How the path of its requests ends."""
    read: Callable[[Json], Asked]
    """Read a request."""
    stream: Callable[[Reply], list[bytes]]
    """Write a reply as the pieces of a stream."""
    whole: Callable[[Reply], Json]
    """Write a reply as one value."""
    refuse: Callable[[Refusal], Json]
    """Write an error."""
    ending: int
    """How many pieces of a stream say that it is over; what stands before them is the whole content."""


class Reader:
    """Collects messages and complaints while a request is read."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.complaints: list[str] = []

    def complain(self, what: str) -> None:
        """Note why a provider would refuse the request."""
        self.complaints.append(what)

    def add(self, item: Item) -> None:
        """Take the next message; results that follow one another are one batch."""
        last = self.items[-1] if self.items else None
        if last is not None and last.role == item.role == "tool":
            self.items[-1] = attrs.evolve(last, results=(*last.results, *item.results))
        else:
            self.items.append(item)

    def object(self, value: Any, where: str) -> Json:
        """Return a value that must be an object; anything else is a complaint and counts as empty."""
        if isinstance(value, dict):
            return value
        self.complain(f"{where} is {type(value).__name__}, expected an object")
        return {}

    def list(self, value: Any, where: str) -> list[Any]:
        """Return a value that must be a list; anything else is a complaint and counts as empty."""
        if isinstance(value, list):
            return value
        self.complain(f"{where} is {type(value).__name__}, expected a list")
        return []

    def word(self, value: Any, where: str) -> str:
        """Return a value that must be text with something in it."""
        if not isinstance(value, str) or not value:
            self.complain(f"{where} is {value!r:.40}, expected a text")
            return ""
        return value

    def arguments(self, value: Any, where: str) -> str:
        """Return arguments, which must be the text of a JSON object."""
        if not isinstance(value, str):
            self.complain(f"{where} is {type(value).__name__}, expected the text of a JSON object")
            return json.dumps(value)
        try:
            fits = isinstance(json.loads(value), dict)
        except (ValueError, RecursionError):
            fits = False
        if not fits:
            self.complain(f"{where} is {value!r:.80}, expected the text of a JSON object")
        return value


def words_of(content: Any) -> str:
    """Return the text of a content that is a text, or a list of parts with a text each."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    found = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict))
    return "".join(each for each in found if isinstance(each, str))


def names_of(tools: Any, *places: str) -> tuple[str, ...]:
    """Return the names in a list of tools, which stand under one of ``places`` or directly in each."""
    found = []
    for tool in tools if isinstance(tools, list) else ():
        held = [tool, *(tool.get(place) for place in places)] if isinstance(tool, dict) else []
        found += [each["name"] for each in held if isinstance(each, dict) and isinstance(each.get("name"), str)][:1]
    return tuple(found)


def event(data: Mapping[str, Any], name: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def pieces(text: str, size: int = 7) -> Iterable[str]:
    """Cut a text into short pieces, as a model tells it."""
    return (text[start : start + size] for start in range(0, len(text), size))
