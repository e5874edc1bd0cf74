"""The correct one."""

from __future__ import annotations

from kit import Loop

Loop().main()
