"""The engine: one loop per session, the only caller of ``reduce``, and what it shows and tells."""

from __future__ import annotations
