"""What is wrong with a value that cannot be written or bytes that cannot be read: where, what, of which version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

PathStep = str | int
"""The name of a field or key, or a position in a list."""


class EncodeError(ValueError):
    """A value is not what its type says, or cannot be written as JSON.

    Untrusted text is cleaned, and numbers are bounded, before they become part of an event; so this names a defect.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        """Where, like ``$.parts[0].text``."""
        self.problem = problem
        """What was found there, and what was expected."""

    def __str__(self) -> str:
        return f"cannot write {self.path}: {self.problem}"


class DecodeError(ValueError):
    """Bytes are not what they should be; nothing of them was taken over."""

    def __init__(self, path: str, problem: str, tag: str = "", version: int | None = None) -> None:
        super().__init__(path, problem, tag, version)
        self.path = path
        """Where, like ``$.parts[0].text``."""
        self.problem = problem
        """What was found there, and what was expected."""
        self.tag = tag
        """Tag of the innermost tagged value around it; empty if none was recognised."""
        self.version = version
        """Version in which that value is written; ``None`` if none was recognised."""

    def __str__(self) -> str:
        inside = f" of {self.tag} version {self.version}" if self.tag else ""
        return f"cannot read {self.path}{inside}: {self.problem}"


class NewerVersion(DecodeError):
    """The bytes were written by a newer version of this library, whose meaning must not be guessed at.

    A session with such a record is refused, read-only: nothing is changed until the version that wrote it is used.
    """

    def __init__(self, path: str, tag: str, version: int, known: int) -> None:
        problem = f"version {version} is newer than {known}, the newest known here; use the version that wrote it"
        super().__init__(path, problem, tag, version)
        self.known = known
        """The newest version that can be read here."""


class Flaw(Exception):
    """What a hook found, while it is on its way up; each level adds its step to the path."""

    def __init__(self, problem: str, *, known: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        """What was found, and what was expected."""
        self.known = known
        """The newest known version, where a newer one was found."""
        self.steps: list[PathStep] = []
        """The way to the place, innermost first."""
        self.tag = ""
        """Tag of the innermost tagged value around it."""
        self.version: int | None = None
        """Version in which that value is written."""

    def within(self, tag: str, version: int) -> Flaw:
        """Note the tagged value around it, unless a nearer one is known."""
        if not self.tag:
            self.tag, self.version = tag, version
        return self

    def under(self, step: PathStep) -> Flaw:
        """Note one step of the way to it."""
        self.steps.append(step)
        return self

    def to_encode_error(self) -> EncodeError:
        """Say it to whoever wanted to write."""
        return EncodeError(path_of(self.steps[::-1]), self.problem)

    def to_decode_error(self) -> DecodeError:
        """Say it to whoever wanted to read."""
        path = path_of(self.steps[::-1])
        if self.known is not None and self.version is not None:
            return NewerVersion(path, self.tag, self.version, self.known)
        return DecodeError(path, self.problem, self.tag, self.version)


def path_of(steps: Sequence[PathStep]) -> str:
    """Return the steps as a path: ``$.parts[0].text``; a key that is no plain word stands in brackets and quotes."""
    return "$" + "".join(_step(step) for step in steps)


def shown(value: object) -> str:
    """Name a value for a message: a bounded piece of what is simple, else its kind."""
    if isinstance(value, str):
        return ascii(value) if len(value) <= _SHOWN_MAX else f"{value[:_SHOWN_MAX]!a}…"
    if isinstance(value, bool | int | float):
        return json.dumps(value)[:_SHOWN_MAX]
    kinds = {dict: "an object", list: "a list", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def one_of(words: Iterable[str]) -> str:
    """Name what was expected: all of it if it is little."""
    listed = list(words)
    more = ", …" if len(listed) > _LISTED_MAX else ""
    return f"one of {', '.join(listed[:_LISTED_MAX])}{more}"


_SHOWN_MAX = 60
_LISTED_MAX = 8


def _step(step: PathStep) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{step!a}]"
