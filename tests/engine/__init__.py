"""Tests of the engine and the host API, against the real reducer."""

from __future__ import annotations
