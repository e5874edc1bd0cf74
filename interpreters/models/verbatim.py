"""Arguments that came as a JSON value instead of as text, put back into the text they were.

What is wrong with them has to survive: a key that stands twice, or a NaN, is for whoever reads the arguments to refuse.
"""

from __future__ import annotations

import json
from typing import Any

_TOO_DEEP = '"arguments nested too deep to be read"'


class _Pair(tuple[str, Any]):
    """A key and its value, sorted by the key alone: two values under one key need not be comparable."""

    __slots__ = ()

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        return bool(self[0] < other[0])


class _Doubled(dict[str, Any]):
    """An object in which a key stands twice; it is written with both."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = [_Pair(pair) for pair in pairs]

    def items(self) -> Any:
        """Return what stands in it, in order: the encoder of JSON asks for this."""
        return self._pairs


def read_with_doubles(text: str) -> Any:
    """Parse JSON so that ``argument_text`` can write it with every key that stood there; errors are ``json.loads``'s.

    It takes about twice as long as plain parsing: for texts that are known to hold arguments.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Doubled(pairs)


def argument_text(value: Any) -> str:
    """Return the text of arguments: text as it is, nothing for ``None``, any other JSON value as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return _TOO_DEEP
