"""``Agent``: a model, tools and rules put together, and the sessions they work in. The composition root of the package.

```python
agent = Agent(model=..., tools=[read, write], instructions="You are careful.")
result = agent.run_sync("Tidy up the notes.")

async with agent.open() as session:
    async for shown in session.stream("Tidy up the notes."):
        ...
    await session.send("And the drafts.")
    result = await session.wait()
```

Limits, refusals and cancels are results, not exceptions. A session that was left, or whose process died, is opened
again by its id and goes on from its last durable event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from secrets import randbelow
from typing import Any
from uuid import uuid4

import anyio
import attrs

from agentcore import PRESETS, Config, Limits, ModelSettings, Policy
from agentcore.codec import encode_event
from agentcore.events import ConfigChanged
from agentcore.policy import Preset
from interpreters.engine import (
    Clock,
    Engine,
    Hooks,
    Interpreters,
    Log,
    Opened,
    Result,
    Session,
    SystemClock,
    Words,
    begin,
    living,
    take_up,
)
from interpreters.policy import Rule, Rules
from interpreters.stores import MemoryStore
from interpreters.support.ports import STAMPED, Approver, Compactor, Gate, ToolBox
from interpreters.support.ports_model import Model
from interpreters.support.ports_store import Journal, Store
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor
from interpreters.tools import Tool, Toolbox

Tools = Iterable[Tool | Callable[..., Any]] | ToolBox
"""Functions and ``@tool`` objects, or something that runs tools itself."""


class Agent:
    """Everything that stays the same from session to session; holds no session and may be used for many at once.

    - ``model``: one, or a name as ``model_named`` takes it: ``"openai:…"``, with the key from the environment.
    - ``policy``: a ``Policy``, or the name of a preset, which brings limits too; ``limits`` replaces those.
    - ``store``: where sessions are kept; without one, in memory, for as long as the agent lives.
    - ``rules``: what may run, first match first, or something that decides itself; what no rule is about is allowed if
      it only reads, else asked about.
    - ``approver``: who is asked; without one, an open session waits for ``approve`` and ``deny``, and ``run`` refuses.
    - ``secrets``: values that are taken out of whatever a tool says, before it is stored, shown or sent to a model.
    """

    def __init__(
        self,
        *,
        model: Model | str,
        tools: Tools = (),
        instructions: str = "",
        policy: Policy | str = "recommended",
        limits: Limits | None = None,
        settings: ModelSettings | None = None,
        store: Store | None = None,
        rules: Iterable[Rule] | Gate = (),
        approver: Approver | None = None,
        hooks: Hooks | None = None,
        compactor: Compactor | None = None,
        secrets: Iterable[str] = (),
        clock: Clock | None = None,
        log: Log | None = None,
    ) -> None:
        """Put an agent together.

        ``ValueError`` for an unknown preset or model, a missing key, parts that clash, or text that cannot be stored.
        """
        preset = _preset_of(policy)
        self.store: Store = store or MemoryStore()
        """Where the sessions are kept."""
        self._clock: Clock = clock or SystemClock()
        self._log = log
        self._rooms: dict[str, _Room] = {}
        hooks = hooks or Hooks()
        asked = _named(model) if isinstance(model, str) else model
        self._cast = Interpreters(
            model=asked,
            tools=self._toolbox(tools, tuple(secrets), asked),
            gate=rules if isinstance(rules, Gate) else Rules(rules),
            approver=approver,
            compactor=compactor,
            hooks=hooks,
        )
        self.config = Config(
            tools=self._cast.tools.contracts,
            limits=limits or preset.limits,
            policy=preset.policy,
            instructions=instructions,
            settings=settings or ModelSettings(),
            prepares_steps=hooks.prepare_step is not None,
            reviews_completion=hooks.review_completion is not None,
        )
        """What sessions are run under."""
        # What could not be recorded would end each session at its first line: it is said here, with its place.
        encode_event(ConfigChanged(at=STAMPED, config=self.config))

    # One turn

    async def run(self, task: Words, *, session_id: str | None = None, context: Any = None) -> Result:
        """Do a task in a new session, or in one that exists, and return how the turn ended.

        Nobody watches meanwhile: what the rules ask about goes to the ``approver`` or is refused. Background tasks that
        still run at the end are left, as by a crash; a resume finds out about them. Raises what ``open`` raises,
        ``StorageUnavailable``, and ``ValueError`` for an empty task.
        """
        async with self.open(session_id, attended=False, context=context) as session:
            sent = await session.send(task)
            if sent.receipt.rejection is not None:
                raise ValueError(str(sent.receipt))
            return await session.wait()

    def run_sync(
        self, task: Words, *, session_id: str | None = None, context: Any = None, backend: str = "asyncio"
    ) -> Result:
        """Do as ``run`` from code that is not async; ``backend`` is ``asyncio`` or ``trio``."""

        async def work() -> Result:
            return await self.run(task, session_id=session_id, context=context)

        return anyio.run(work, backend=backend)

    # A session

    @asynccontextmanager
    async def open(
        self,
        session_id: str | None = None,
        *,
        create: bool = False,
        attended: bool = True,
        context: Any = None,
        accept_gap: str | None = None,
    ) -> AsyncIterator[Session]:
        """Open a session for as long as the block lasts: a new one, or one that exists, which goes on by itself.

        ``create`` makes a new one under the given id; an unknown id is never taken for a new session by itself.
        ``attended`` says that somebody watches: questions then stay open for ``approve``, ``deny`` and ``resolve``.
        ``context`` is a live object for the tools of this session, never stored. ``accept_gap`` names who accepts that
        what lies behind a damage of the journal is not used.

        Raises ``StoreError`` (unknown, locked, damaged, too new …) and ``JournalUnreadable``; ``StorageUnavailable`` at
        the end of the block if that stopped the engine and nobody was told.
        """
        opened = await self._opened(session_id, create=create, accept_gap=accept_gap)
        name = opened.state.session_id
        self._rooms[name] = _Room(opened.journal, context)
        cast = attrs.evolve(self._cast, attended=attended)
        engine = Engine(opened, self.config, cast, clock=self._clock, jitter=_jitter, log=self._log)
        try:
            async with living(engine):
                yield Session(engine, opened.recovery)
        finally:
            del self._rooms[name]
            if isinstance(cast.tools, Toolbox):
                cast.tools.forget(name)

    async def _opened(self, session_id: str | None, *, create: bool, accept_gap: str | None) -> Opened:
        if session_id is None or create:
            name = uuid4().hex if session_id is None else session_id
            return await begin(self.store, name, self.config, self._clock.now())
        return await take_up(self.store, session_id, accept_gap=accept_gap)

    # The toolbox, and what it asks for, by session

    def _toolbox(self, tools: Tools, secrets: tuple[str, ...], model: Model) -> ToolBox:
        if not isinstance(tools, ToolBox):
            # What a model is authorised with is a secret too; models that hold a key say so.
            keys = (key for key in getattr(model, "secrets", ()) if len(key) >= VALUE_LENGTH_MIN)
            return Toolbox(tools, keep=self._keep, host=self._context, redactor=Redactor((*secrets, *keys)))
        if secrets:
            raise ValueError("secrets= are taken out by the toolbox that is made of functions; give yours a Redactor")
        return tools

    async def _keep(self, session_id: str, name: str, data: bytes) -> str:
        return await self._rooms[session_id].journal.keep(name, data)

    def _context(self, session_id: str) -> Any:
        return self._rooms[session_id].context


@attrs.frozen(eq=False)
class _Room:
    """What belongs to a session only while it is open."""

    journal: Journal
    context: Any


def _named(name: str) -> Model:
    from interpreters.models import model_named  # noqa: PLC0415 - only who names a model needs what asks one

    return model_named(name)


def _preset_of(policy: Policy | str) -> Preset:
    if isinstance(policy, Policy):
        return Preset(Limits(), policy)
    if policy not in PRESETS:
        raise ValueError(f"there is no policy preset {policy!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[policy]


def _jitter(max_ms: int) -> int:
    """Spread retries: clients that failed together must not come back together."""
    return randbelow(max_ms + 1)
