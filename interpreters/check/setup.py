"""How a program is attacked: what is started, and how long each thing is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypedDict

import attrs

DIALECTS = ("any", "chat", "responses", "anthropic")
"""What a program may be said to speak."""


@attrs.frozen(kw_only=True)
class Patience:
    """Bounds, in seconds, requests and bytes. What exceeds one is ended, and judged."""

    connect_s: float = 30.0
    """From the start to the first request."""
    quiet_s: float = 20.0
    """Without a request, a deed or an end, while nothing is held up by the check."""
    whole_s: float = 180.0
    """For one scenario."""
    requests_max: int = 150
    """Requests of one scenario."""
    output_max: int = 10_000_000
    """Bytes that the program prints in one scenario."""
    hold_s: float = 2.5
    """How long a reply or a deed goes on after a cancel: what begins later than ``margin_s`` is too late."""
    margin_s: float = 1.0
    """How long a cancel may take to be heard."""
    slow_s: float = 0.7
    """What a slow tool takes."""
    hang_s: float = 3.0
    """After what time a tool that never answers breaks the connection."""
    stall_s: float = 1.5
    """How long a stalled reply says nothing before its connection breaks."""


@attrs.frozen(kw_only=True)
class Setup:
    """The program and its means."""

    command: tuple[str, ...]
    """What is started."""
    resume_command: tuple[str, ...] = ()
    """What is started after a kill; without it kills are not applicable."""
    cancel_command: tuple[str, ...] = ()
    """What cancels; without it SIGINT is sent to the program's group."""
    cancels: bool = True
    """The program can be cancelled at all."""
    compacts: bool = False
    """The program says that it may replace its history by a summary at any time."""
    dialect: str = "any"
    """What it speaks; anything else is then a finding."""
    prompt: str = "Please do the work that is waiting, with the tools you have."
    """What the user says."""
    env: Mapping[str, str] = MappingProxyType({})
    """Environment variables beside those of the contract."""
    patience: Patience = Patience()
    """The bounds."""


class Settings(TypedDict, total=False):
    """Fields of ``Setup`` that have a default, as ``run`` takes them."""

    cancels: bool
    """The program can be cancelled at all."""
    compacts: bool
    """It may replace its history by a summary at any time."""
    dialect: str
    """What it speaks; one of ``DIALECTS``."""
    prompt: str
    """What the user says."""
    env: Mapping[str, str]
    """Environment variables beside those of the contract."""
    patience: Patience
    """The bounds."""
