"""Broken: it has its answer and does not end."""

from __future__ import annotations

import time

from kit import Loop

Loop().main()
time.sleep(3600)
