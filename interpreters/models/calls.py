"""Tool calls of a chat-completions stream: which piece belongs to which call.

An honest server gives each call an index and an id and sends both with its first piece. Real ones leave out either,
repeat names and ids, send empty ones, give two calls one index, or send arguments as an object. Rules, in order:

1. A non-empty id that is new starts a new call, also on an open index; so does any id on an index that is not open.
2. A known id means that call, where the index does not say otherwise.
3. Without an id, a piece continues the call of its index, or without an index the newest one.
4. But a *named* piece with arguments starts a new call where that call's arguments are whole already: nothing can be
   appended to whole JSON.
5. Two named pieces without id and index in one list are two calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from agentcore.messages import ArgumentsState, parse_arguments
from interpreters.models.assembly import OpenCall
from interpreters.models.reading import index_of, text_of
from interpreters.models.verbatim import argument_text

_WIRE_KEYS = frozenset({"index", "id", "type", "function"})


@attrs.frozen
class Piece:
    """One entry of a ``tool_calls`` list, as far as it is of use."""

    index: int | None
    """Its index, if it has one."""
    id: str
    """Its id, or empty."""
    name: str
    """Its tool, or empty."""
    arguments: str
    """Its argument text; an object is put back into text."""
    extra: dict[str, Any]
    """Fields beyond the dialect: signatures that the provider wants back."""

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.id or self.name or self.arguments or self.extra)


def read_piece(entry: Any) -> Piece | None:
    """Read an entry; ``None`` for what is no object."""
    if not isinstance(entry, dict):
        return None
    told = entry.get("function")
    function = told if isinstance(told, dict) else {}
    return Piece(
        index_of(entry.get("index")),
        text_of(entry.get("id")),
        text_of(function.get("name")),
        argument_text(function.get("arguments")),
        {key: value for key, value in entry.items() if key not in _WIRE_KEYS and value is not None},
    )


class CallFolder:
    """Sorts pieces into calls; ``open_call`` begins one at the present place of the message."""

    def __init__(self, open_call: Callable[[], OpenCall]) -> None:
        self._open_call = open_call
        self._by_index: dict[int, OpenCall] = {}
        self._calls: list[OpenCall] = []

    @property
    def any(self) -> bool:
        """Whether there is a call."""
        return bool(self._calls)

    def fold(self, pieces: list[Piece]) -> None:
        """Take the pieces of one list."""
        named: OpenCall | None = None
        for piece in pieces:
            call = self._call_of(piece)
            if call is None or (piece.name and piece.index is None and not piece.id and call is named):
                call = self._start(piece)
            self._extend(call, piece)
            named = call if piece.name else named

    def _call_of(self, piece: Piece) -> OpenCall | None:
        """Return the open call that the piece continues, or ``None`` if it starts one."""
        call = self._by_index.get(piece.index) if piece.index is not None else self._latest(piece.id)
        if call is None:
            return None
        if piece.id and call.provider_id and piece.id != call.provider_id:
            known = self._latest(piece.id)
            return known if known is not None and not _starts_anew(piece, known) else None
        return None if _starts_anew(piece, call) else call

    def _latest(self, provider_id: str) -> OpenCall | None:
        known = [call for call in self._calls if provider_id in ("", call.provider_id)]
        return known[-1] if known else None

    def _start(self, piece: Piece) -> OpenCall:
        call = self._open_call()
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    @staticmethod
    def _extend(call: OpenCall, piece: Piece) -> None:
        call.provider_id = call.provider_id or piece.id
        call.name = _longer_name(call, piece)
        call.extra.update(piece.extra)
        if piece.arguments:
            call.pieces.append(piece.arguments)


def _starts_anew(piece: Piece, call: OpenCall) -> bool:
    return bool(piece.name and piece.arguments.strip()) and _whole(call)


def _longer_name(call: OpenCall, piece: Piece) -> str:
    """Names come whole, repeated, as a growing prefix, or in fragments that end when the arguments begin."""
    if not piece.name or piece.name == call.name:
        return call.name
    if not call.name or piece.name.startswith(call.name):
        return piece.name
    return call.name if call.pieces else call.name + piece.name


def _whole(call: OpenCall) -> bool:
    # Looked at from its end: putting all the pieces together at each of them would add up.
    last = next((piece for piece in reversed(call.pieces) if piece.strip()), "")
    return last.rstrip().endswith("}") and parse_arguments("".join(call.pieces)).state is ArgumentsState.COMPLETE
