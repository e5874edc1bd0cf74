"""A protocol made of an object of somebody's own, so that a test is a few lines."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.testing.protocol.loops import loop_laws
from agentcore.testing.protocol.shape import LoopProtocol

NEEDED = ("initial", "enabled", "reduce")
"""What an adapter must have."""
MAPPED = ("told", "ordered", "ended")
"""What it must have, all of it or nothing, to be held to the laws of agent loops; ``answered`` adds two more."""


def protocol_of(adapter: Any) -> LoopProtocol:
    """Return what is to be explored: a ``LoopProtocol`` as it is, or one made of an object's members.

    The members are named as the fields of ``LoopProtocol``: ``initial``, ``enabled`` and ``reduce``, and whichever of
    the others there are. A class is called first. An object with ``told``, ``ordered`` and ``ended`` is held to the
    laws of agent loops as well, and may rest where it has ended. ``TypeError`` names what is missing.
    """
    if isinstance(adapter, LoopProtocol):
        return adapter
    if isinstance(adapter, type):
        adapter = adapter()
    missing = [name for name in NEEDED if not hasattr(adapter, name)]
    if missing:
        raise TypeError(f"{adapter!r:.80} is no loop to explore: it has no {', '.join(missing)}")
    known = {
        field.name: getattr(adapter, field.name)
        for field in attrs.fields(LoopProtocol)
        if field.name != "name" and hasattr(adapter, field.name)
    }
    mapped = [name for name in MAPPED if hasattr(adapter, name)]
    if mapped and len(mapped) < len(MAPPED):
        absent = ", ".join(name for name in MAPPED if name not in mapped)
        raise TypeError(f"{adapter!r:.80} has {mapped[0]} and no {absent}: the laws of agent loops need all three")
    if mapped:
        laws = loop_laws(
            told=adapter.told, ordered=adapter.ordered, ended=adapter.ended, answered=getattr(adapter, "answered", None)
        )
        known["laws"] = (*known.get("laws", ()), *laws)
        known.setdefault("accepting", adapter.ended)
    return LoopProtocol(name=str(getattr(adapter, "name", type(adapter).__name__)), **known)
