"""Broken: it finishes what it is at, and then everything else, before it looks at the cancel."""

from __future__ import annotations

import signal

from kit import Loop

signal.signal(signal.SIGINT, signal.SIG_IGN)
Loop().main()
