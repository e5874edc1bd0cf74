"""What the host decides once: tools and their effect contracts, readings of disputed rules, the whole configuration.

Where sources disagree about a rule, the choice is a field of ``Policy`` with a documented default. A
``ToolContract`` says
how a tool's effect may be dealt with; a call keeps a copy of it from when it was proposed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import attrs

from agentcore.limits import Limits

Consequence = Literal["return_error", "stop_turn"]
"""Tell the model and go on, or end the turn after the results are written."""

Absent = Literal["retry", "report"]
"""After a proved absence: run again, or tell the model."""


class Effect(StrEnum):
    """What a tool does to the world, and so what may be done when its end is not proved."""

    PURE = "pure"
    KEYED = "keyed"
    FENCEABLE = "fenceable"
    INSPECTABLE = "inspectable"
    OPAQUE = "opaque"


@attrs.frozen
class ToolContract:
    """All the core knows of a tool. ``ValueError`` if the parts contradict each other."""

    name: str
    """What the model calls it."""
    effect: Effect = Effect.OPAQUE
    """What it does to the world; opaque is the careful default."""
    description: str = ""
    """For the model."""
    parameters: str = '{"type":"object"}'
    """JSON schema of its arguments, canonical JSON."""
    timeout_ms: int | None = None
    """Deadline of one execution in milliseconds; ``None`` takes ``Limits.tool_ms``."""
    exclusive: bool = False
    """Runs only while no other call holds a slot, and holds all of them."""
    acts_within_ms: int | None = None
    """How long an attempt can still act, in milliseconds; needed for ``inspectable``."""
    absent_after_resume: Absent = "retry"
    """After a proved absence of an attempt that a resume made unknown."""
    absent_otherwise: Absent = "report"
    """After any other proved absence."""
    detached: bool = False
    """May answer with ``TaskStarted`` and go on in the background, belonging to the session."""
    required: bool = False
    """A detached task whose turn may not complete before it."""
    on_failure: Literal["degrade", "block"] = "degrade"
    """Whether an end without success lets the turn go on or ends it as a tool error."""
    completes: bool = False
    """The explicit completion tool (R-090)."""

    def __attrs_post_init__(self) -> None:
        """Refuse contradictions, naming tool and field."""
        if not self.name:
            raise ValueError("a tool needs a name")
        if (self.effect is Effect.INSPECTABLE) != (self.acts_within_ms is not None):
            raise ValueError(f"tool {self.name!r}: acts_within_ms belongs to effect 'inspectable', which needs it")
        if self.required and not self.detached:
            raise ValueError(f"tool {self.name!r}: only a detached tool can be required; every other one is waited for")

    @property
    def pure(self) -> bool:
        """Only reads."""
        return self.effect is Effect.PURE

    @property
    def programs_inspect(self) -> bool:
        """Has an ``inspect`` of its own."""
        return self.effect in (Effect.FENCEABLE, Effect.INSPECTABLE)


@attrs.frozen
class Policy:
    """How disputed rules are read. Defaults are those of the preset ``recommended``."""

    denied_static: Consequence = "return_error"
    """A rule refused (D-1)."""
    denied_refused: Consequence = "stop_turn"
    """A person refused (D-1)."""
    denied_feedback: Consequence = "return_error"
    """A person refused and said why (D-1)."""
    denied_dangerous: Consequence = "stop_turn"
    """A rule refused something dangerous (D-1)."""
    denied_unanswered: Consequence = "return_error"
    """The question expired, or nobody could be asked (D-1)."""
    recoverable_error: Consequence = "return_error"
    """A tool error of the ordinary kind (D-2)."""
    fatal_error: Consequence = "stop_turn"
    """A tool error that no arguments can mend (D-2)."""
    sequential: bool = False
    """One call at a time, in source order."""
    completion_required: bool = False
    """The turn may end only after a tool with ``completes`` was called without error (R-090)."""
    count_waiting: bool = False
    """Waiting for a person counts against the turn's time (D-27)."""
    show_recoverable: bool = False
    """Frontends show model errors that are being recovered from (D-20)."""


@attrs.frozen
class ModelSettings:
    """What a request asks of the model; changed only between steps (R-081)."""

    model: str = ""
    """Name of the model, as its interpreter understands it."""
    options: str = "{}"
    """Further settings, canonical JSON, not interpreted here."""


@attrs.frozen
class Config:
    """Everything a session is run under; lives in the state, replaced by a resume or, in ``Idle``, by the host."""

    tools: tuple[ToolContract, ...] = ()
    """The tools in force, names unique."""
    limits: Limits = attrs.field(factory=Limits)
    """Bounds and durations."""
    policy: Policy = attrs.field(factory=Policy)
    """Readings of disputed rules."""
    instructions: str = ""
    """The system prompt."""
    settings: ModelSettings = attrs.field(factory=ModelSettings)
    """Model settings."""
    prepares_steps: bool = False
    """The host installed something for ``PrepareStep``."""
    reviews_completion: bool = False
    """The host installed something for ``ReviewCompletion``."""

    def __attrs_post_init__(self) -> None:
        """Refuse two tools of one name."""
        names = [tool.name for tool in self.tools]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"two tools are named {', '.join(doubled)}: rename one of each")
        if self.policy.completion_required and not any(tool.completes for tool in self.tools):
            raise ValueError("policy.completion_required needs a tool with completes=True, or no turn could end")

    def tool(self, name: str) -> ToolContract | None:
        """Return the contract of a tool, or ``None`` if there is none of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@attrs.frozen
class Preset:
    """Limits and policy that belong together."""

    limits: Limits
    """Its bounds."""
    policy: Policy
    """Its readings."""


PRESETS: Mapping[str, Preset] = {
    "recommended": Preset(Limits(), Policy()),
    "strict": Preset(
        Limits(steps=8, tool_calls=12, turn_ms=120_000),
        Policy(
            denied_static="stop_turn",
            denied_feedback="stop_turn",
            denied_unanswered="stop_turn",
            recoverable_error="stop_turn",
            count_waiting=True,
        ),
    ),
    "open": Preset(
        Limits(steps=None, tool_calls=None),
        Policy(denied_refused="return_error", denied_dangerous="return_error", fatal_error="return_error"),
    ),
    "single_call": Preset(Limits(), Policy(sequential=True)),
}
"""The four presets of the requirements; a test holds each value."""
