"""The host's side from a script: rules, a person who answers, preparation, review, compaction.

Each takes its answers in order and repeats the last one; each remembers what it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from agentcore.commands import AskApproval, CompactContext, EvaluatePolicy, InspectEffect
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    CompactionFailed,
    CompactionPurpose,
    ContextCompacted,
    DenialKind,
    EffectInspected,
    EffectResolved,
    Finding,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    Resolution,
)
from agentcore.messages import ToolMessage, Usage, canonical_json, digest
from agentcore.policy import ModelSettings
from agentcore.states import Call, State
from interpreters.support.ports import STAMPED

T = TypeVar("T")


class ScriptStopped(RuntimeError):
    """Raised by a scripted hook where its script says that it fails."""


@attrs.define
class _Answers(Generic[T]):
    """Answers in order; the last one is repeated."""

    script: Sequence[T]
    used: int = 0

    def next(self) -> T:
        answer = self.script[min(self.used, len(self.script) - 1)]
        self.used += 1
        return answer


@attrs.frozen
class Allow:
    """The rules let a call run."""

    rule: str = "scripted-allow"
    """Id of the rule."""
    arguments: Mapping[str, Any] | None = None
    """What is to run instead; ``None`` leaves the arguments."""


@attrs.frozen
class AskFirst:
    """The rules want a person to decide."""

    rule: str = "scripted-ask"
    """Id of the rule."""
    reason: str = "the script says so"
    """Why."""


@attrs.frozen
class Refuse:
    """The rules block a call, or a person refuses it."""

    rule: str = "scripted-block"
    """Id of the rule."""
    reason: str = ""
    """Why; a person's feedback."""
    dangerous: bool = False
    """The rule guards against something dangerous."""
    kind: DenialKind = DenialKind.REFUSED
    """A person's: refused, expired, or nobody there."""


@attrs.frozen
class Grant:
    """A person lets a call run."""

    by: str = "user"
    """Who."""
    arguments: Mapping[str, Any] | None = None
    """What is to run instead; ``None`` for exactly what was shown."""


@attrs.frozen
class Resolve:
    """A person says what became of an effect."""

    resolution: Resolution = Resolution.EXECUTED
    """What they say."""
    result: str = ""
    """Result or error, for the model."""
    retry: bool = False
    """With ``NOT_EXECUTED``: run it again."""
    by: str = "user"
    """Who says so."""


@attrs.frozen
class Unsure:
    """A person looked and does not know."""

    evidence: str = "the person does not know"
    """What they say."""


class ScriptedGate:
    """Rules by tool name, implementing ``Gate``; a tool without an entry is allowed."""

    def __init__(self, verdicts: Mapping[str, Sequence[Allow | AskFirst | Refuse]] | None = None) -> None:
        self.asked: list[str] = []
        """Ids of the calls that were reviewed, in order."""
        self._verdicts = {tool: _Answers(script) for tool, script in (verdicts or {}).items()}

    async def evaluate(
        self, session_id: str, order: EvaluatePolicy, call: Call
    ) -> PolicyAllowed | PolicyAsked | PolicyBlocked:
        """Decide about a call."""
        self.asked.append(order.call_id)
        answers = self._verdicts.get(call.name)
        verdict = answers.next() if answers else Allow()
        key: dict[str, Any] = {
            "at": STAMPED,
            "call_id": order.call_id,
            "epoch": order.epoch,
            "attempt": order.attempt,
            "rule": verdict.rule,
        }
        match verdict:
            case Allow(arguments=arguments):
                text = call.arguments if arguments is None else canonical_json(dict(arguments))
                return PolicyAllowed(**key, arguments=text, digest=digest(text))
            case AskFirst(reason=reason):
                return PolicyAsked(**key, arguments=call.arguments, digest=digest(call.arguments), reason=reason)
            case Refuse(reason=reason, dangerous=dangerous):
                return PolicyBlocked(**key, reason=reason or "the script says so", dangerous=dangerous)


class ScriptedApprover:
    """A person who answers by script, implementing ``Approver``."""

    def __init__(
        self, answers: Sequence[Grant | Refuse] = (Grant(),), effects: Sequence[Resolve | Unsure] = (Resolve(),)
    ) -> None:
        self.questions: list[AskApproval] = []
        """What permission was asked for, in order."""
        self.inquiries: list[InspectEffect] = []
        """Which effects were asked about, in order."""
        self._answers = _Answers(answers)
        self._effects = _Answers(effects)

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Answer a question for permission."""
        self.questions.append(order)
        key: dict[str, Any] = {
            "at": STAMPED,
            "call_id": order.call_id,
            "epoch": order.epoch,
            "attempt": order.attempt,
        }
        answer = self._answers.next()
        if isinstance(answer, Refuse):
            return ApprovalDenied(**key, kind=answer.kind, feedback=answer.reason)
        text = call.arguments if answer.arguments is None else canonical_json(dict(answer.arguments))
        return ApprovalGranted(**key, arguments=text, digest=digest(text), by=answer.by)

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Answer what became of an effect."""
        self.inquiries.append(order)
        answer = self._effects.next()
        if isinstance(answer, Unsure):
            return EffectInspected(
                at=STAMPED,
                call_id=order.call_id,
                epoch=order.epoch,
                attempt=order.attempt,
                finding=Finding.UNAVAILABLE,
                by="user",
                evidence=answer.evidence,
            )
        return EffectResolved(
            at=STAMPED,
            call_id=order.call_id,
            resolution=answer.resolution,
            by=answer.by,
            result=answer.result,
            retry=answer.retry,
        )


class ScriptedPreparer:
    """The hook ``prepare_step``: model settings in order, ``None`` to keep them, a text to fail with it."""

    def __init__(self, script: Sequence[ModelSettings | str | None] = (None,)) -> None:
        self.steps: list[str] = []
        """The steps it was called for."""
        self._answers = _Answers(script)

    def __call__(self, state: State) -> ModelSettings | None:
        """Prepare a step; raises ``ScriptStopped`` where the script says so."""
        self.steps.append(state.request_id)
        answer = self._answers.next()
        if isinstance(answer, str):
            raise ScriptStopped(answer)
        return answer


class ScriptedReviewer:
    """The hook ``review_completion``: feedback in order, empty to accept."""

    def __init__(self, script: Sequence[str] = ("",)) -> None:
        self.steps: list[str] = []
        """The steps whose answers it was shown."""
        self._answers = _Answers(script)

    def __call__(self, state: State) -> str:
        """Return what is missing, or nothing."""
        self.steps.append(state.request_id)
        return self._answers.next()


@attrs.frozen
class Compaction:
    """How a compaction goes."""

    summary: str = "what was said before"
    """What stands for the covered messages."""
    keep: int = 1
    """So many of the newest messages stay; more where calls and their results would be parted."""
    tokens_before: int = 1_000
    """Size before, in tokens."""
    tokens_after: int = 100
    """Size after, in tokens; not smaller means that the compaction is refused."""
    fails: str = ""
    """Why it fails, if it does."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


class ScriptedCompactor:
    """Makes contexts smaller by script, implementing ``Compactor``."""

    def __init__(self, script: Sequence[Compaction] = (Compaction(),)) -> None:
        self.orders: list[CompactContext] = []
        """What was ordered."""
        self._answers = _Answers(script)

    async def compact(self, order: CompactContext, state: State) -> ContextCompacted | CompactionFailed:
        """Answer an order."""
        self.orders.append(order)
        how = self._answers.next()
        key: dict[str, Any] = {
            "at": STAMPED,
            "request_id": order.request_id,
            "epoch": order.epoch,
            "attempt": order.attempt,
            "usage": how.usage,
        }
        if how.fails:
            return CompactionFailed(**key, reason=how.fails)
        media = order.purpose is CompactionPurpose.MEDIA
        return ContextCompacted(
            **key,
            purpose=order.purpose,
            covers_to=len(state.history) if media else covered(state, how.keep),
            summary="" if media else how.summary,
            tokens_before=how.tokens_before,
            tokens_after=how.tokens_after,
        )


def covered(state: State, keep: int) -> int:
    """Return the position behind the last message that a summary may stand for, if ``keep`` newest ones are to stay."""
    history, start = state.history, state.window.start
    place = max(start, len(history) - keep)
    while start < place < len(history) and isinstance(history[place], ToolMessage):
        place -= 1
    return place
