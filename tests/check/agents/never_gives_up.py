"""Broken: nothing bounds its rounds or its retries."""

from __future__ import annotations

from kit import Loop


class NeverGivesUp(Loop):
    rounds_max = tries_max = 10**9


NeverGivesUp().main()
