"""Which event of a Responses answer belongs to which output item.

An honest server announces an item, tells its content in pieces, says it again whole, and once more at the very end.
Real ones leave out any of these, or indexes, or ids, or mint an item's id anew each time. Rules, in order:

1. Two calls with different call ids are two calls, whatever else they share; so are two that ended differently.
2. A piece belongs to the item of its id, else to that of its index, else to the newest open one of its kind.
3. What is told at once belongs to the item of its index, then of its id, then of its call id, then to the newest open
   one that it does not contradict. An announcement with another id begins a new item, also on a known index; the end
   of an item does not.
4. The list at the very end is that of the items before, place by place, if it has the same kinds; where it has not,
   what was not known is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpreters.models.reading import index_of, list_of, text_of
from interpreters.models.responses_parts import CallItem, OpenItem, open_item
from interpreters.models.verbatim import argument_text


class Items:
    """The items of one answer."""

    def __init__(self) -> None:
        self._items: list[OpenItem] = []
        self._by_index: dict[int, OpenItem] = {}
        self._latest: tuple[tuple[Any, ...], OpenItem] | None = None
        """Where the piece before belonged: most pieces follow one of their own."""

    @property
    def all(self) -> list[OpenItem]:
        """The items in the model's order: by their indexes, where each has one of its own, else as they began."""
        indexes = [item.index for item in self._items if item.index is not None]
        if len(set(indexes)) < len(self._items):
            return list(self._items)
        return sorted(self._items, key=lambda item: item.index or 0)

    def begin(self, index: Any, told: Mapping[str, Any]) -> OpenItem:
        """Return the item that an announcement is of."""
        place = index_of(index)
        return self._known(place, told, begins=True) or self._open(_kind(told), place)

    def end(self, index: Any, told: Mapping[str, Any]) -> OpenItem:
        """Return the item that is told whole."""
        self._latest = None
        place = index_of(index)
        item = self._known(place, told, begins=False)
        if item is None:
            open_one = self._newest((_kind(told),))
            fits = open_one is not None and None in (open_one.index, place) and _may_be(open_one, told)
            item = open_one if open_one is not None and fits and _agree(open_one.id, text_of(told.get("id"))) else None
        return item or self._open(_kind(told), place)

    def at(self, kinds: tuple[str, ...], index: Any, item_id: Any) -> OpenItem:
        """Return the item that a piece belongs to, beginning one of the first kind where there is none."""
        if self._latest is not None and self._latest[0] == (kinds, index, item_id):
            return self._latest[1]
        item = self._at(kinds, index_of(index), text_of(item_id))
        self._latest = ((kinds, index, item_id), item)
        return item

    def _at(self, kinds: tuple[str, ...], place: int | None, name: str) -> OpenItem:
        named = [item for item in self._items if name and item.id == name and item.kind in kinds]
        found = self._by_index.get(place) if place is not None else None
        if named:
            return found if found in named else named[-1]
        if found is not None and found.kind in kinds:
            return found
        item = self._newest(kinds) if place is None and not name else None
        if item is None:
            item = self._open(kinds[0], place)
            item.fields |= {"id": name} if name else {}
        return item

    def last(self, output: Any) -> list[tuple[OpenItem, Mapping[str, Any]]]:
        """Return the items of the list at the very end, each with what it says there."""
        told = [one for one in list_of(output) if isinstance(one, dict)]
        known = self.all
        alike = len(told) == len(known) and all(
            item.kind == _kind(one) and _may_be(item, one) for item, one in zip(known, told, strict=True)
        )
        if alike:
            return list(zip(known, told, strict=True))
        return [(self._known(None, one, begins=False) or self._open(_kind(one), None), one) for one in told]

    def _open(self, kind: str, index: int | None) -> OpenItem:
        item = open_item(kind, index)
        self._latest = None
        self._items.append(item)
        if index is not None:
            self._by_index[index] = item
        return item

    def _newest(self, kinds: tuple[str, ...]) -> OpenItem | None:
        return next((item for item in reversed(self._items) if item.kind in kinds and not item.ended), None)

    def _known(self, index: int | None, told: Mapping[str, Any], *, begins: bool) -> OpenItem | None:
        kind, name, call_id = _kind(told), text_of(told.get("id")), text_of(told.get("call_id"))
        alike = [item for item in reversed(self._items) if item.kind == kind and _may_be(item, told)]
        found = self._by_index.get(index) if index is not None else None
        if found in alike and (not begins or _agree(found.id, name)):
            return found
        for item in alike:
            if index is not None and item.index not in (None, index):
                continue
            if name and item.id == name:
                return item
            if call_id and item.call_id == call_id and _agree(item.id, name):
                return item
        return None


def _may_be(item: OpenItem, told: Mapping[str, Any]) -> bool:
    """Say whether what is told can be of the item: not if the two are different calls."""
    if not _agree(item.call_id, text_of(told.get("call_id"))):
        return False
    if not isinstance(item, CallItem) or not item.ended:
        return True
    arguments = argument_text(told.get("input" if item.custom else "arguments"))
    return arguments.strip() in ("", "{}", item.arguments.strip())


def _agree(one: str, other: str) -> bool:
    """Say whether two names can be of one thing: they are the same, or one is not told."""
    return not one or not other or one == other


def _kind(told: Mapping[str, Any]) -> str:
    return text_of(told.get("type")) or "message"
