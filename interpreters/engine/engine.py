"""The loop that owns a session: the only caller of ``reduce`` while it lives.

For each thing that happened, in the order of the mailbox:

1. **reduce** it, with the time stamped on;
2. **append** it, if it was accepted; the append cannot be cancelled. If storage stays unavailable nothing further is
   done, and what is not saved goes to the caller;
3. **adopt** the new state, **show** it, and **act**: stop what nobody waits for any more, begin what is ordered.

So nothing is done, and nothing is shown as done, that a restart would not know of.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import perf_counter_ns

import anyio
import attrs
from anyio.abc import TaskGroup

from agentcore import Verdict, outstanding, reduce
from agentcore.codec import EncodeError
from agentcore.commands import Command, Key, RequestModel, key_of
from agentcore.events import CheckpointWritten, Event, FollowUpQueued, SessionResumed, SteeringQueued
from agentcore.policy import Config
from agentcore.states import ENDS, State, StopReason
from interpreters.engine.boundary import Boundary
from interpreters.engine.broadcast import RING, Broadcast, Subscription
from interpreters.engine.clock import Clock, SystemClock
from interpreters.engine.desk import Desk
from interpreters.engine.hooks import HookTrace
from interpreters.engine.mailbox import Envelope, Mailbox, Make, enclose
from interpreters.engine.perform import Interpreters, Performer
from interpreters.engine.receipts import Receipt, Reply, SessionOver
from interpreters.engine.recorder import Recorder, StorageUnavailable
from interpreters.engine.resume import Opened
from interpreters.engine.seam import describe, failure
from interpreters.engine.shown import Passage, views_of
from interpreters.engine.trace import Judged, Log, Trace, default_log
from interpreters.engine.works import Works
from interpreters.support.ports import STAMPED
from interpreters.support.ports_store import StoreError
from interpreters.support.views import AgentEnd, TurnEnd

LEFT_OPEN = "the session was left while the turn was open: resume it to continue"
"""What the last view of such a turn says."""


def no_jitter(jitter_max_ms: int) -> int:
    """Add nothing."""
    return 0


class Engine:
    """Owns one session from its opening until its journal is closed."""

    def __init__(
        self,
        opened: Opened,
        config: Config,
        cast: Interpreters,
        *,
        clock: Clock | None = None,
        jitter: Callable[[int], int] = no_jitter,
        log: Log | None = None,
        ring: int = RING,
    ) -> None:
        """``config`` is in force for a session that is taken up; ``jitter`` returns 0 to its argument, in ms."""
        self.state = opened.state
        """The session now."""
        self.failure: StorageUnavailable | None = None
        """Why the engine stopped by itself, if it did."""
        self.told = False
        """Whether anybody was given the failure."""
        self._opened = opened
        self._config = config
        self._cast = cast
        clock = clock or SystemClock()
        trace = Trace(self.state.session_id, log or default_log())
        self._desk = Desk(
            session_id=self.state.session_id,
            clock=clock,
            jitter=jitter,
            mailbox=Mailbox(clock),
            recorder=Recorder(opened.journal, clock, config.limits),
            broadcast=Broadcast(lambda: self.state, ring),
            trace=trace,
            hooks=HookTrace(clock, trace.hook),
        )
        self._boundary = Boundary(cast.hooks, self._desk)
        self._waited: dict[Key, Command] = {}
        self._shown: set[RequestModel] = set()
        self._resting = anyio.Event()
        self._over = False

    @property
    def waited(self) -> tuple[Command, ...]:
        """Everything the session waits for now."""
        return tuple(self._waited.values())

    # What the host does

    async def act(self, make: Make, *, urgent: bool = False) -> Receipt:
        """Let something happen and return the verdict.

        Raises ``StorageUnavailable`` or ``SessionOver`` if nothing is judged any more, ``EncodeError`` for an act that
        could not be recorded.
        """
        reply = Reply()
        if self._over:
            self._refuse(reply)
        else:
            mailbox = self._desk.mailbox
            (mailbox.put_abort if urgent else mailbox.put)(Envelope(make, reply))
        return await reply.wait()

    def subscribe(self, after: int | None = None) -> Subscription:
        """Return an iterator over the views after a number; without one, over those that come from now on."""
        return self._desk.broadcast.subscribe(after)

    async def rest(self) -> None:
        """Return when no turn is open and none begins by itself.

        Raises ``StorageUnavailable`` or ``SessionOver`` if the engine stopped before.
        """
        await self._resting.wait()
        if self.failure is not None:
            self.told = True
            raise self.failure
        if self._over and self.state.open:
            raise SessionOver

    def close(self) -> None:
        """Stop looking at what happens; ``run`` then ends. What is under way is left, as by a crash, and resumed."""
        self._desk.mailbox.close()

    # The loop

    async def run(self) -> None:
        """Own the session until ``close``, cancellation, or the end of storage (then ``failure`` is set)."""
        try:
            async with anyio.create_task_group() as tasks:
                try:
                    await self._live(tasks)
                except StorageUnavailable as error:
                    self.failure = error
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._finish()

    async def _live(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._performer = Performer(self._cast, self._desk, Works(tasks, self._answered), self._shown.add)
        await self._begin()
        if not self.state.open:
            self._resting.set()
        while (envelope := await self._desk.mailbox.take()) is not None:
            await self._handle(envelope)

    async def _begin(self) -> None:
        """Order what a new session's start orders, or record the resume of an old one."""
        if self._opened.recovery is not None:
            resumed = SessionResumed(at=STAMPED, config=self._config, recovery=self._opened.recovery)
            await self._commit(self._judge(resumed))
            return
        self._waited = {key_of(command): command for command in self._opened.ordered}
        for command in self._opened.ordered:
            await self._performer.perform(command, self.state)

    def _answered(self, event: Event, command: Command) -> None:
        """Take the answer to a command; it is no longer silent, however long its answer waits to be judged."""
        self._desk.mailbox.timers.stop(key_of(command))
        self._desk.mailbox.put(enclose(event, answers=command))

    async def _handle(self, envelope: Envelope) -> None:
        """Judge what an envelope holds, and tell who wants to know."""
        reply = envelope.reply
        try:
            receipt = Receipt(Verdict.IGNORED, self.state.seq)
            for event in envelope.make(self.state):
                receipt = await self._happen(event, envelope.answers)
            if reply is not None:
                reply.tell(receipt)
        except EncodeError as error:
            # What cannot be recorded has not happened.
            self._desk.trace.trouble("event dropped", cause=describe(error))
            if reply is not None:
                reply.fail(error)
        except StorageUnavailable as error:
            self.failure = error
            self._refuse(reply)
            raise
        except BaseException:
            self._refuse(reply)
            raise

    def _refuse(self, reply: Reply | None) -> None:
        """Say to whoever waits that an act will not be judged, and why."""
        if reply is not None:
            self.told = self.told or self.failure is not None
            reply.fail(self.failure or SessionOver())

    async def _happen(self, event: Event, answers: Command | None = None) -> Receipt:
        """Let one event happen, after what the host has to say about the step that it begins."""
        judged = self._judge(event)
        if self._boundary.crossed(judged.before, judged.after):
            await self._say(await self._boundary.before_step(judged.before, judged.after))
            judged = self._judge(event)
        try:
            receipt = await self._commit(judged)
            problem = str(receipt)
        except EncodeError as error:
            if answers is None:
                raise
            receipt, problem = Receipt(Verdict.IGNORED, self.state.seq), describe(error)
        if answers is not None and not receipt.accepted and key_of(answers) in self._waited:
            # Its interpreter thinks it has answered: nobody would ever say anything else.
            failed = failure(answers, f"its answer cannot be used: {problem}")
            return receipt if failed is None else await self._happen(failed)
        await self._settle()
        return receipt

    async def _say(self, events: list[Event]) -> None:
        """Let happen what the host said; what cannot be recorded must not take anything else with it."""
        for event in events:
            try:
                await self._commit(self._judge(event))
            except EncodeError as error:
                self._desk.trace.trouble("event dropped", cause=describe(error))

    def _judge(self, event: Event) -> Judged:
        event = attrs.evolve(event, at=self._desk.clock.now())
        began = perf_counter_ns()
        judgement = reduce.examine(self.state, event)
        return Judged(self.state, event, judgement, (perf_counter_ns() - began) // 1000)

    async def _commit(self, judged: Judged) -> Receipt:
        """Record, adopt, show and act; not to be cancelled half way."""
        with anyio.CancelScope(shield=True):
            if judged.accepted:
                await self._record(judged)
                self._adopt(judged)
            self._desk.trace.reduction(judged)
            if isinstance(judged.event, SteeringQueued | FollowUpQueued):
                self._boundary.recorded(judged.event.message_id, self.state.seq)
            for command in judged.commands:
                await self._performer.perform(command, self.state)
        judgement = judged.judgement
        return Receipt(
            judgement.verdict, self.state.seq, type(judged.event).__name__, judgement.reason, judgement.rejection
        )

    async def _record(self, judged: Judged) -> None:
        recorder = self._desk.recorder
        await recorder.append(judged.after.seq, judged.event)
        if isinstance(judged.event, SessionResumed):
            # A resume that a power cut forgets would mint its keys a second time.
            await recorder.sync_or_stop()

    def _adopt(self, judged: Judged) -> None:
        waited = {key_of(command): command for command in outstanding(judged.after)}
        gone = [command for key, command in self._waited.items() if key not in waited]
        self.state, self._waited = judged.after, waited
        passage = Passage(judged.before, judged.event, judged.after, judged.commands, gone)
        for view in views_of(passage, self._shown):
            self._desk.broadcast.show(view)
        self._shown.difference_update(gone)
        self._performer.withdraw(waited)
        if isinstance(judged.event, CheckpointWritten):
            self._tasks.start_soon(self._boundary.take, judged.event.seq)
        if self._desk.recorder.claim_snapshot():
            self._tasks.start_soon(self._snapshot, self.state)

    async def _settle(self) -> None:
        """Say so when nothing goes on any more, after asking whether anything waits elsewhere."""
        if self.state.open:
            if self._resting.is_set():
                self._resting = anyio.Event()
            return
        if self._resting.is_set() or not isinstance(self.state.phase, ENDS):
            return
        await self._say(await self._boundary.after_turn(self.state))
        if not self.state.open:
            self._desk.broadcast.show(AgentEnd())
            self._resting.set()

    async def _snapshot(self, state: State) -> None:
        try:
            await self._desk.recorder.snapshot(state)
        except (StoreError, EncodeError) as error:
            self._desk.trace.trouble("snapshot failed", cause=describe(error))

    # The end

    async def _finish(self) -> None:
        """Close the journal; tell everybody who waits that it is over."""
        self._over = True
        for envelope in self._desk.mailbox.drain():
            self._refuse(envelope.reply)
        self._say_end()
        self._resting.set()
        self._desk.broadcast.close()
        if self.failure is None and self._desk.recorder.claim_snapshot():
            await self._snapshot(self.state)
        try:
            await self._desk.recorder.journal.close()
        except StoreError as error:
            self._desk.trace.trouble("journal not closed", cause=describe(error))

    def _say_end(self) -> None:
        """Show the two last views where they have not been shown."""
        show, failed = self._desk.broadcast.show, self.failure
        if self.state.open:
            reason = StopReason.STORAGE if failed else None
            show(TurnEnd(self.state.turn.number, reason, str(failed) if failed else LEFT_OPEN))
        if self.state.open or failed:
            show(AgentEnd(str(failed) if failed else ""))


@asynccontextmanager
async def living(engine: Engine) -> AsyncIterator[None]:
    """Let an engine own its session for as long as the block lasts.

    What the block raises is raised as it is, not wrapped into a group. Raises ``StorageUnavailable`` at the end if that
    stopped the engine and nobody was told.
    """
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it is raised again, behind the group that would wrap it
            raised = error
        engine.close()
    if raised is not None:
        raise raised
    if engine.failure is not None and not engine.told:
        raise engine.failure
