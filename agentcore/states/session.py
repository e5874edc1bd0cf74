"""The state of a session: everything a resume needs, and nothing that is only shown."""

from __future__ import annotations

import attrs

from agentcore.messages import History, IdSet, MessageSource, Usage, UserMessage, UserPart
from agentcore.policy import Config
from agentcore.states.calls import Batch, Call
from agentcore.states.phases import ENDS, Idle, Phase, RunningTools, Stopping


@attrs.frozen
class Counters:
    """What a turn has used up of its bounds; each field is named like its bound.

    Those that count what happened (denials, resumes, rounds in a row) include the one that went beyond the bound.
    """

    tool_calls: int = 0
    """Calls started."""
    model_retries: int = 0
    """Retried requests of this step."""
    resumes: int = 0
    """Resumes of this step with work under way."""
    overflow_compactions: int = 0
    """Compactions after an overflow."""
    truncation_reissues: int = 0
    """Re-issues in a row."""
    media_downgrades: int = 0
    """Downgrades of media."""
    empty_replies: int = 0
    """Empty replies in a row."""
    think_only: int = 0
    """Replies of only thinking in a row."""
    unknown_finishes: int = 0
    """Unstated ends in a row."""
    missing_completions: int = 0
    """Reminders in a row."""
    completion_refusals: int = 0
    """Refused completions."""
    denials: int = 0
    """Denied calls."""
    argument_repairs: int = 0
    """Rounds with refused arguments in a row."""
    unknown_tools: int = 0
    """Rounds with unknown tools in a row."""
    failing_rounds: int = 0
    """Rounds of errors only in a row."""
    identical_calls: int = 0
    """Repeats of one round in a row."""


@attrs.frozen
class Turn:
    """What belongs to the turn that runs, or ran last."""

    number: int = 0
    """1 for the first; 0 before it."""
    step: int = 0
    """Number of the last step begun; a gap in the journal leaves numbers out."""
    steps: int = 0
    """Steps begun, counted against their bound."""
    started_at: int = 0
    """When, in milliseconds."""
    due_at: int | None = None
    """When its time is up, in milliseconds; ``None`` while stopped or unlimited."""
    left_ms: int | None = None
    """What was left when the clock was stopped for a person, in milliseconds."""
    clocks: int = 0
    """Times its clock was started; mints the timer's key."""
    preparations: int = 0
    """Orders to prepare in this step; mints keys."""
    requests: int = 0
    """Attempts of this step's request; mints keys."""
    compactions: int = 0
    """Orders to compact in this step; mints keys."""
    reviews: int = 0
    """Orders to review a completion in this step; mints keys."""
    nudges: int = 0
    """Messages of the loop itself in this turn; mints their ids."""
    counters: Counters = attrs.field(factory=Counters)
    """What its bounds have used up."""
    usage: Usage = attrs.field(factory=Usage)
    """What its attempts consumed."""
    context_tokens: int = 0
    """Size of the last request's context as the provider told it."""
    round: str = ""
    """Digest of the last round of calls, to know it again."""
    stop_after_step: bool = False
    """End at the next step boundary."""


@attrs.frozen
class QueuedMessage:
    """A message that waits for its place."""

    message_id: str
    """Minted by the client, or ``notice/…`` by the reducer."""
    parts: tuple[UserPart, ...]
    """Its content."""
    source: MessageSource
    """Steering, follow-up or notice."""

    def message(self, source: MessageSource | None = None) -> UserMessage:
        """Return it as a message of the history."""
        return UserMessage(self.message_id, source or self.source, self.parts)


@attrs.frozen
class Queues:
    """Messages not yet delivered, oldest first."""

    steering: tuple[QueuedMessage, ...] = ()
    """Meant for the running turn."""
    follow_ups: tuple[QueuedMessage, ...] = ()
    """Meant for after it."""
    notices: tuple[QueuedMessage, ...] = ()
    """Outcomes of the register that the model has to learn; delivered before steering."""


@attrs.frozen
class Window:
    """The part of the history that a request is built from."""

    start: int = 0
    """First message of the history that is sent."""
    summary: str = ""
    """What stands for the messages before, if anything."""
    media_to: int = 0
    """Media before this history position are replaced by a remark."""


@attrs.frozen
class Storage:
    """What is durable, and what is wanted to be."""

    durable: int = 0
    """The last event known to be durable."""
    wanted: int = 0
    """The last event that should become so."""
    in_flight: int | None = None
    """The event an outstanding checkpoint covers."""
    attempt: int = 0
    """Orders given; mints keys."""
    failures: int = 0
    """Failures in a row."""
    retry_at: int | None = None
    """When the next try is due, in milliseconds."""
    barrier: int = 0
    """No request goes out before this event is durable: a mended import."""


@attrs.frozen
class State:
    """A session, whole and immutable."""

    session_id: str
    """Its id, minted by the host."""
    config: Config
    """In force."""
    phase: Phase
    """Where the turn stands."""
    epoch: int = 0
    """Number of resumes."""
    seq: int = 0
    """Number of accepted events; the id of the last one."""
    at: int = 0
    """The latest time seen, in milliseconds; never falls."""
    turn: Turn = attrs.field(factory=Turn)
    """The turn that runs, or ran last."""
    turns: int = 0
    """The highest turn number used; the next turn takes the one above."""
    history: History = attrs.field(factory=History)
    """Every message."""
    window: Window = attrs.field(factory=Window)
    """What of it is sent."""
    queues: Queues = attrs.field(factory=Queues)
    """Messages that wait."""
    known: IdSet = attrs.field(factory=IdSet)
    """Ids of messages seen."""
    acts: IdSet = attrs.field(factory=IdSet)
    """Ids of acts seen."""
    register: tuple[Call, ...] = ()
    """Effects outside a running batch: detached tasks, and effects whose outcome was given up."""
    storage: Storage = attrs.field(factory=Storage)
    """What is durable."""
    usage: Usage = attrs.field(factory=Usage)
    """What the session consumed."""

    @property
    def batch(self) -> Batch | None:
        """The running batch, if there is one."""
        return self.phase.batch if isinstance(self.phase, RunningTools | Stopping) else None

    @property
    def request_id(self) -> str:
        """Id of the step that runs, or ran last."""
        return f"{self.turn.number}.{self.turn.step}"

    @property
    def open(self) -> bool:
        """Whether a turn is neither absent nor ended."""
        return not isinstance(self.phase, (Idle, *ENDS))
