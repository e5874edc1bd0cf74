"""Broken: after a kill it has nothing to do."""

from __future__ import annotations

import sys

from kit import Loop

if "--resume" not in sys.argv:
    Loop().main()
