"""What a host does with an open session: one method per act, each a value in and a value out.

Every act becomes one event and is answered with a ``Receipt``: accepted, ignored, or rejected with a reason. Nothing
here decides what is legal; that is the reducer's, at the moment the act meets the state. Limits and cancels are
results, not exceptions. Raised are only ``StorageUnavailable`` and ``SessionOver``, when there is no session any more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from uuid import uuid4

import attrs

from agentcore.commands import AskApproval
from agentcore.events import (
    AbortRequested,
    AbortScope,
    ApprovalDenied,
    ApprovalGranted,
    ConfigChanged,
    EffectResolved,
    Event,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    InspectionRequested,
    MessageWithdrawn,
    PromptSubmitted,
    Recovery,
    Resolution,
    RetryRequested,
    SessionReopened,
    SteeringQueued,
)
from agentcore.messages import Message, TextPart, UserPart, clean_text, digest
from agentcore.policy import Config
from agentcore.states import ENDS, State
from interpreters.engine.broadcast import Subscription
from interpreters.engine.engine import Engine
from interpreters.engine.receipts import Receipt
from interpreters.engine.results import Result, result_of
from interpreters.support.ports import STAMPED
from interpreters.support.views import AgentEnd, Shown

Words = str | Sequence[UserPart]
"""What a user says: text, or parts."""


@attrs.frozen
class Sent:
    """What became of a message."""

    message_id: str
    """What ``withdraw`` takes."""
    filed: str
    """``prompt``, ``follow-up`` or ``steering``; empty if it was refused."""
    receipt: Receipt
    """The verdict."""


_FILED: Mapping[str, str] = {"PromptSubmitted": "prompt", "FollowUpQueued": "follow-up", "SteeringQueued": "steering"}


class Session:
    """An open session."""

    def __init__(self, engine: Engine, recovery: Recovery | None) -> None:
        self._engine = engine
        self.recovery = recovery
        """What the store found when the session was taken up again; ``None`` for a new one."""

    @property
    def session_id(self) -> str:
        """Its id."""
        return self._engine.state.session_id

    @property
    def state(self) -> State:
        """All that is true of it now; immutable."""
        return self._engine.state

    @property
    def result(self) -> Result:
        """How its last turn ended, or stands now."""
        return result_of(self._engine.state)

    def views(self, after: int | None = None) -> Subscription:
        """Return an iterator over the views after a number; without one, over those that come from now on."""
        return self._engine.subscribe(after)

    async def wait(self) -> Result:
        """Return the result when nothing goes on any more; raises ``StorageUnavailable`` or ``SessionOver``."""
        await self._engine.rest()
        return self.result

    # Messages

    async def send(
        self, words: Words = "", *, queued: Sequence[str] = (), steer: bool = False, message_id: str = ""
    ) -> Sent:
        """Say something: a prompt if no turn is open, else a follow-up or, with ``steer``, steering (D-33).

        ``queued`` are ids of waiting messages that a prompt delivers with it. A ``message_id`` that is known already is
        ignored.
        """
        parts, name = _parts(words), message_id or _mint()
        queue = SteeringQueued if steer else FollowUpQueued

        def make(state: State) -> tuple[Event, ...]:
            if state.open:
                return (queue(at=STAMPED, message_id=name, parts=parts),)
            prompt = PromptSubmitted(at=STAMPED, message_id=name, parts=parts, queued=tuple(queued))
            return (*_reopened(state), prompt)

        return _sent(name, await self._engine.act(make))

    async def stream(self, words: Words, *, message_id: str = "") -> AsyncIterator[Shown]:
        """Say something and return the views until nothing goes on any more; the last one is ``agent_end``.

        ``ValueError`` if it is refused: it was empty.
        """
        views = self.views()
        sent = await self.send(words, message_id=message_id)
        if sent.receipt.rejection is not None:
            raise ValueError(str(sent.receipt))
        async for shown in views:
            yield shown
            if isinstance(shown.view, AgentEnd):
                return

    async def steer(self, words: Words, *, message_id: str = "") -> Sent:
        """Say something for the running turn; it is delivered after the next round of tools."""
        name = message_id or _mint()
        return _sent(name, await self._act(SteeringQueued(at=STAMPED, message_id=name, parts=_parts(words))))

    async def follow_up(self, words: Words, *, message_id: str = "") -> Sent:
        """Say something for after the running turn; it begins the next one."""
        name = message_id or _mint()
        return _sent(name, await self._act(FollowUpQueued(at=STAMPED, message_id=name, parts=_parts(words))))

    async def withdraw(self, message_id: str) -> Receipt:
        """Take a queued message back."""
        return await self._act(MessageWithdrawn(at=STAMPED, message_id=message_id))

    # Permission

    async def approve(
        self, call_id: str, *, arguments: str | None = None, shown: str = "", by: str = "user"
    ) -> Receipt:
        """Allow a call to run with the arguments that were asked about.

        ``shown`` is the digest of what the person saw: a call that wants something else by now is refused. Other
        ``arguments`` (canonical JSON) send the call back to review.
        """
        question = self._question(call_id)
        wanted = question.digest if question else ""
        text = arguments if arguments is not None else self._arguments(call_id)
        sealed = digest(text) if arguments is not None else shown or wanted
        return await self._act(
            ApprovalGranted(
                at=STAMPED,
                call_id=call_id,
                epoch=self.state.epoch,
                attempt=question.attempt if question else 0,
                arguments=text,
                digest=sealed,
                by=by,
            )
        )

    async def deny(self, call_id: str, feedback: str = "", *, by: str = "user") -> Receipt:
        """Refuse a call; ``feedback`` tells the model what to do instead."""
        question = self._question(call_id)
        return await self._act(
            ApprovalDenied(
                at=STAMPED,
                call_id=call_id,
                epoch=self.state.epoch,
                attempt=question.attempt if question else 0,
                feedback=clean_text(feedback),
                by=by,
            )
        )

    def _question(self, call_id: str) -> AskApproval | None:
        """Return the question about a call that is open now, if there is one."""
        asked = (command for command in self._engine.waited if isinstance(command, AskApproval))
        return next((command for command in asked if command.call_id == call_id), None)

    def _arguments(self, call_id: str) -> str:
        batch = self.state.batch
        return next((call.arguments for call in (batch.calls if batch else ()) if call.call_id == call_id), "{}")

    # Stopping

    async def abort(self, scope: AbortScope = AbortScope.TURN, *, call_id: str = "", act_id: str = "") -> Receipt:
        """Stop work: the turn, one call or task (``call_id``), everything, or the turn after this step.

        Each call is a new act unless ``act_id`` repeats one: while a turn is stopping, a new act gives up waiting.
        """
        name = act_id or _mint()

        def make(state: State) -> tuple[Event, ...]:
            turn = state.turn.number if scope in (AbortScope.TURN, AbortScope.AFTER_STEP) else 0
            return (AbortRequested(at=STAMPED, act_id=name, scope=scope, turn=turn, call_id=call_id),)

        return await self._engine.act(make, urgent=True)

    # Effects

    async def inspect(self, call_id: str) -> Receipt:
        """Have an unknown effect looked at now."""
        return await self._act(InspectionRequested(at=STAMPED, call_id=call_id))

    async def retry(self, call_id: str, *, act_id: str = "") -> Receipt:
        """Run a call again whose absence was proved; refused before (R-243). Each call is a new act unless repeated."""
        return await self._act(RetryRequested(at=STAMPED, call_id=call_id, act_id=act_id or _mint()))

    async def resolve(
        self,
        call_id: str,
        resolution: Resolution,
        result: str = "",
        *,
        retry: bool = False,
        by: str = "user",
        act_id: str = "",
    ) -> Receipt:
        """Say what became of an effect; ``retry`` runs one again that was not executed.

        Each call is a new word unless ``act_id`` repeats one: a word about one attempt is not taken for the next.
        """
        said = clean_text(result)
        name = act_id or _mint()
        word = EffectResolved(
            at=STAMPED, call_id=call_id, resolution=resolution, by=by, result=said, retry=retry, act_id=name
        )
        return await self._act(word)

    # The session

    async def clear(self) -> Receipt:
        """Let the model forget what was said; nothing is deleted. Refused while a turn is open."""
        return await self._between_turns(HistoryCleared(at=STAMPED))

    async def import_history(self, messages: Sequence[Message]) -> Receipt:
        """Bring in a history from elsewhere; orphans are mended (D-35). Refused while a turn is open."""
        return await self._between_turns(HistoryImported(at=STAMPED, messages=tuple(messages)))

    async def configure(self, change: Callable[[Config], Config]) -> Receipt:
        """Change the configuration. Refused while a turn is open."""
        return await self._between_turns(ConfigChanged(at=STAMPED, config=change(self.state.config)))

    async def reopen(self) -> Receipt:
        """Make a session that has ended ready for the next prompt; ``send`` does so by itself."""
        return await self._act(SessionReopened(at=STAMPED))

    async def _between_turns(self, event: Event) -> Receipt:
        return await self._engine.act(lambda state: (*_reopened(state), event))

    async def _act(self, event: Event) -> Receipt:
        return await self._engine.act(lambda _: (event,))


def _reopened(state: State) -> tuple[Event, ...]:
    return (SessionReopened(at=STAMPED),) if isinstance(state.phase, ENDS) else ()


def _sent(message_id: str, receipt: Receipt) -> Sent:
    return Sent(message_id, _FILED.get(receipt.event, "") if receipt.rejection is None else "", receipt)


def _parts(words: Words) -> tuple[UserPart, ...]:
    if isinstance(words, str):
        return (TextPart(clean_text(words)),) if words else ()
    return tuple(words)


def _mint() -> str:
    return uuid4().hex
