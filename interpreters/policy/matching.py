"""Patterns for arguments. The values come from a model: no pattern may be talked into matching more than it says."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import shlex
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from interpreters.support.matching import linear_search

_OPERATORS = frozenset(";&|<>()$`\\{}\n\r\0")


class Matcher(Protocol):
    """Says whether an argument is meant."""

    def matches(self, text: str) -> bool:
        """Say whether the text of the argument fits."""


@attrs.frozen
class Glob:
    """``*``, ``?`` and ``[...]``, for the whole text; ``*`` matches slashes and line breaks too."""

    pattern: str
    """The pattern."""

    def matches(self, text: str) -> bool:
        """Say whether all of the text fits."""
        return fnmatch.fnmatchcase(text, self.pattern)


@attrs.frozen
class Regex:
    """A regular expression that occurs in the text, without look-around and back-references.

    ``ValueError`` if it is not usable.
    """

    pattern: str
    """The expression."""
    ignore_case: bool = False
    """Upper and lower case are the same."""
    _search: Callable[[str], bool] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile it once."""
        object.__setattr__(self, "_search", linear_search(self.pattern, ignore_case=self.ignore_case))

    def matches(self, text: str) -> bool:
        """Say whether it occurs."""
        return self._search(text)


@attrs.frozen
class Under:
    """A path at or below a directory, read as the file tools read it; one with ``..`` is under nothing.

    The names alone decide. That no link leads elsewhere is for the tool to see to.
    """

    directory: str
    """Relative to ``root``, or absolute."""
    root: str = "/"
    """What relative paths start from; the root of the file tools."""

    def matches(self, text: str) -> bool:
        """Say whether the path lies there."""
        if ".." in text.split("/") or "\0" in text:
            return False
        place, wanted = self._absolute(text), self._absolute(self.directory)
        return place == wanted or place.startswith(f"{wanted.rstrip('/')}/")

    def _absolute(self, path: str) -> str:
        # Two slashes at the front mean something of their own to POSIX, and nothing here.
        return posixpath.normpath(posixpath.join(self.root, path)).replace("//", "/")


@attrs.frozen
class Command:
    """One simple command that begins with these words: no operator, no substitution, no second line.

    A glob such as ``git *`` would allow ``git status; rm -rf .`` as well.
    """

    words: tuple[str, ...]
    """The program, and the arguments it must begin with."""
    exact: bool = False
    """Nothing may follow."""

    def matches(self, text: str) -> bool:
        """Say whether the text is such a command."""
        if _OPERATORS.intersection(text):
            return False
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            return False
        return words == self.words if self.exact else words[: len(self.words)] == self.words


def matcher(pattern: str | Matcher) -> Matcher:
    """Return a matcher; plain text is a glob."""
    return Glob(pattern) if isinstance(pattern, str) else pattern


def text_at(arguments: Any, path: str) -> str | None:
    """Return the text of an argument, ``a.b`` for one inside another, or ``None``; what is no string as JSON."""
    value = arguments
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
