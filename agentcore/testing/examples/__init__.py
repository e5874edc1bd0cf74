"""Loops that are not ours, as examples of an exploration: each with a flaw, and mended.

``naive_loop`` is an agent loop as it is written in an afternoon, ``approval`` a protocol between two people and a till.
Read one, then write yours beside it. Each module has ``protocol(mended=…)``.
"""

from __future__ import annotations
