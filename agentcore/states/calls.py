"""The call machine: every tool call, detached task and kept effect is one ``Call`` in one of these states.

A call in a batch, an entry of the register and a background task are the same class under the same rules. State
names say what
evidence proves, not what one hopes.
"""

from __future__ import annotations

import attrs

from agentcore.events import Inspector
from agentcore.messages import AssistantMessage, Outcome
from agentcore.policy import ToolContract
from agentcore.states.because import Transition


@attrs.frozen
class Run:
    """One execution of a call, from its release on."""

    epoch: int
    """Epoch in which it was released."""
    attempt: int
    """Number of the execution."""
    seq: int
    """The event that released it: the intent, to be durable before the effect."""
    released_at: int
    """When, in milliseconds."""
    due_at: int | None = None
    """Its deadline in milliseconds, from when it could first act."""
    covered_at: int | None = None
    """When the covering checkpoint, or the first resume after the release, was seen; never shifted."""
    started: bool = False
    """``ToolStarted`` was accepted."""
    resumed: bool = False
    """A resume made this attempt unknown; later events do not change that."""
    handle: str = ""
    """What an inspection can ask about."""
    observation: str = ""
    """The last known remote state."""

    @property
    def id(self) -> tuple[int, int]:
        """Epoch and number: what a result has to name."""
        return self.epoch, self.attempt


@attrs.frozen
class Cancel:
    """An order to stop that was given and not yet confirmed."""

    attempt: int
    """Number of the cancel."""
    grace_at: int
    """When waiting for a confirmation ends, in milliseconds."""


@attrs.frozen
class Inquiry:
    """How an unknown effect is being found out."""

    by: Inspector
    """Who looks."""
    attempt: int
    """Number of the inspection, or of the pause that ends with it."""
    resume_at: int | None = None
    """When to look, in milliseconds; ``None`` while somebody is looking."""
    ordered_at: int = 0
    """When this inspection was ordered, in milliseconds."""


@attrs.frozen
class LateReport:
    """What an earlier attempt said after a newer one was started: there may be two deeds."""

    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """Its number."""
    said: str
    """Its result."""

    @property
    def run(self) -> tuple[int, int]:
        """Epoch and number of the attempt."""
        return self.epoch, self.attempt


@attrs.frozen
class Proposed:
    """The model asked for the call; nobody has allowed it.

    Duty: review, serial and in source order.
    """

    transition: Transition
    """How it was reached."""
    since: int = 0
    """The event at which it came to wait for its review: one that comes back waits behind those already waiting."""


@attrs.frozen
class AwaitingApproval:
    """A person was asked about exactly these arguments."""

    transition: Transition
    """How it was reached."""
    due_at: int | None
    """When the question expires, in milliseconds."""
    rule: str = ""
    """The rule that wants to ask."""
    reason: str = ""
    """Why."""


@attrs.frozen
class Ready:
    """Allowed; waits until its batch is reviewed and a slot is free."""

    transition: Transition
    """How it was reached."""


@attrs.frozen
class Released:
    """Allowed to run and being started; from here on it counts as possibly started after a crash.

    Duty: in a running engine it starts only when a checkpoint covers the release.
    """

    transition: Transition
    """How it was reached."""
    run: Run
    """The attempt."""


@attrs.frozen
class Executing:
    """The intent is durable and the attempt was ordered."""

    transition: Transition
    """How it was reached."""
    run: Run
    """The attempt."""


@attrs.frozen
class CancellationRequested:
    """The attempt was told to stop and has not confirmed it; no false green ``cancelled``."""

    transition: Transition
    """How it was reached."""
    run: Run
    """The attempt."""
    cancel: Cancel
    """The order to stop."""


@attrs.frozen
class EffectUnknown:
    """A tool was started and we cannot prove whether its effect happened.

    Evidence: the intent became durable; no result arrived in time.
    Not a failure: the effect may have happened, so running it again could do it twice.
    The only ways on are an inspection or a person's decision.
    """

    transition: Transition
    """How it was reached."""
    run: Run
    """The attempt."""
    inquiry: Inquiry
    """How it is being found out."""
    live: bool = False
    """Its ``ExecuteTool`` is still outstanding: the attempt was not seen to end."""
    cancel: Cancel | None = None
    """An order to stop the attempt, which may still run."""
    proved_absent: str | None = None
    """Proof that the effect did not happen, while the call waits for its batch to close or for a retry."""
    rechecked: bool = False
    """Somebody looks again although the absence was proved; the proof stands until something contradicts it."""
    reports: tuple[LateReport, ...] = ()
    """What earlier attempts said late; shown to whoever inspects."""

    @property
    def looking(self) -> bool:
        """Somebody is looking just now."""
        return self.inquiry.resume_at is None and (self.proved_absent is None or self.rechecked)


@attrs.frozen
class Settled:
    """The call has its one answer, which never changes.

    In the register an answer that leaves the effect open may be settled once more, by evidence or a person.
    """

    transition: Transition
    """How it was reached."""
    outcome: Outcome
    """What became of it."""
    run: Run | None = None
    """The attempt it speaks of, if one was started."""


CallState = Proposed | AwaitingApproval | Ready | Released | Executing | CancellationRequested | EffectUnknown | Settled
CALL_STATES: tuple[type[CallState], ...] = CallState.__args__
"""Classes of all call states."""

Running = Released | Executing | CancellationRequested | EffectUnknown
"""States in which an attempt may be acting; they hold a slot."""
RUNNING: tuple[type[Running], ...] = Running.__args__
"""Classes of those states."""


@attrs.frozen
class Tries:
    """Numbers that mint keys, each of which only grows, and what the bounds of a call have used up."""

    reviews: int = 0
    """Orders to evaluate the policy."""
    questions: int = 0
    """Questions to a person for permission."""
    executions: int = 0
    """Executions released."""
    cancels: int = 0
    """Orders to stop."""
    inspections: int = 0
    """Inspections and pauses between them."""
    inspections_used: int = 0
    """Automatic inspections, counted against their bound."""
    asks_used: int = 0
    """Questions to a person that brought no answer, counted against the same bound."""
    retries_used: int = 0
    """Extra executions, counted against their bound."""
    observations_used: int = 0
    """Recorded changes of the remote state."""
    changes_used: int = 0
    """Grants that changed the arguments."""


@attrs.frozen
class Grant:
    """A person's permission for exactly these arguments."""

    digest: str
    """SHA-256 of the arguments."""
    by: str
    """Who gave it."""


@attrs.frozen
class Question:
    """A question that was asked under a digest; it keeps its due time over a resume."""

    digest: str
    """SHA-256 of the arguments that were shown."""
    due_at: int | None
    """When it expires, in milliseconds."""


@attrs.frozen
class Call:
    """One tool call, wherever it lives."""

    call_id: str
    """``turn.step.index``, minted by the reducer."""
    provider_id: str
    """The provider's id; an attribute of the wire."""
    name: str
    """The tool asked for."""
    raw_arguments: str
    """What the model wrote."""
    proposed: str
    """What a review starts from, canonical JSON: the model's arguments, or those a person put in their place."""
    arguments: str
    """What will run or ran, canonical JSON; while proposed, the same as ``proposed``."""
    contract: ToolContract
    """The tool's effect contract when the call was proposed."""
    state: CallState
    """Where it stands."""
    digest: str = ""
    """SHA-256 of the arguments that were allowed or are asked for."""
    tries: Tries = attrs.field(factory=Tries)
    """Its counters."""
    grant: Grant | None = None
    """A person's permission that still stands."""
    question: Question | None = None
    """The last question asked."""
    rule: str = ""
    """The rule that decided."""
    heard: tuple[str, ...] = ()
    """Digests of the decisions taken about it, to know a repeated one again."""
    unproved: tuple[Run, ...] = ()
    """Earlier attempts neither proved nor voided."""
    voided: tuple[Run, ...] = ()
    """Earlier attempts proved not to have acted."""
    counted: bool = False
    """It was counted against the turn's tool calls."""
    aborted: bool = False
    """Somebody wanted it to stop: it is not run again."""
    reviewed_in: int = -1
    """Epoch of the review that allowed it; a resume asks for a new one before anything runs again."""
    registered: bool = False
    """It lives in the register: a detached task, or an effect whose outcome was given up."""

    @property
    def run(self) -> Run | None:
        """The present attempt, if one was released."""
        return getattr(self.state, "run", None)


@attrs.frozen
class Batch:
    """The calls of one model message, and the message itself until the results are written with it (D-17)."""

    request_id: str
    """``turn.step``."""
    message: AssistantMessage
    """What the model said; goes into history together with all results."""
    calls: tuple[Call, ...]
    """In source order."""
    truncated: bool = False
    """The message was cut: none of its calls runs."""
