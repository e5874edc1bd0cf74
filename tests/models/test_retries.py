"""A request that broke is tried again by the reducer alone, what it had shown is withdrawn, a replay decides alike."""

from __future__ import annotations

import anyio
import attrs
import pytest

import interpreters.agent
from agentcore import Limits, reduce, start
from agentcore.codec import decode_header
from agentcore.commands import RequestModel, StartTimer
from agentcore.events import ModelFailed, TimerFired
from agentcore.states import StopReason
from interpreters import Agent, HttpModel, MemoryStore
from interpreters.models import Timeouts
from tests.cases.helpers_a import journalled
from tests.models import stories
from tests.models.byteserver import HANG, RESET, Answer, serving

pytestmark = pytest.mark.anyio

TELLINGS = {"chat": stories.chat, "anthropic": stories.anthropic, "responses": stories.responses}
WORDS = "The bridge opens at nine."
JITTERY = Limits(model_retries=2, retry_base_ms=10, retry_jitter_ms=150)
LIMITS = Limits(model_retries=2, retry_base_ms=10, retry_jitter_ms=0)
ENDINGS = {
    "it just ends": ((), "truncated-stream"),
    "it is reset": ((RESET,), "connection"),
    "it is silent": ((HANG,), "idle-timeout"),
    "it is malformed": ((b"data: {not json\n\n",), "malformed-stream"),
}


def whole(dialect: str, words: str = WORDS) -> bytes:
    return stories.written(TELLINGS[dialect](stories.Story(words)).events)


def begun(dialect: str, words: str = "No, it") -> bytes:
    """An answer as far as its end was not stated yet."""
    telling = TELLINGS[dialect](stories.Story(words))
    return stories.written(telling.events[: telling.ends_at - 1])


@attrs.frozen
class Seen:
    """What a turn against a server looked like."""

    result: object
    journal: list
    views: list
    sent: list
    state: object
    store: MemoryStore

    @property
    def said(self) -> list[tuple[str, int]]:
        """Words and withdrawals in their order, with the attempts that they are of; words of one attempt once."""
        told = [
            (shown.name, shown.view.attempt)
            for shown in self.views
            if shown.name in ("text_delta", "partial_discarded")
        ]
        return [one for at, one in enumerate(told) if at == 0 or told[at - 1] != one]


async def turn(dialect: str, *answers: bytes | Answer, limits: Limits = LIMITS) -> Seen:
    store = MemoryStore()
    with serving(*(one if isinstance(one, Answer) else Answer((one,)) for one in answers)) as server:
        model = HttpModel("m", base_url=server.url, dialect=dialect, timeouts=Timeouts(idle_s=0.5, progress_s=5))
        async with Agent(model=model, limits=limits, store=store).open("s", create=True) as session:
            with anyio.fail_after(10):
                views = [shown async for shown in session.stream("When?")]
            result, state = session.result, session.state
    return Seen(result, await journalled(store, "s"), views, server.received, state, store)


@pytest.mark.req("D-13", "R-141", "R-144")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dialect", TELLINGS)
async def test_what_was_shown_is_withdrawn_before_anything_else_is_shown(dialect, ending):
    breaks, code = ENDINGS[ending]
    seen = await turn(dialect, Answer((begun(dialect), *breaks)), whole(dialect))
    assert seen.said == [("text_delta", 1), ("partial_discarded", 1), ("text_delta", 2)]
    assert (seen.result.reason, seen.result.text) == (StopReason.FINAL_ANSWER, WORDS)
    failed = [event for event in seen.journal if isinstance(event, ModelFailed)]
    assert [(event.code, event.output_shown) for event in failed] == [(code, True)]
    # Tried again from the same history: of the broken answer nothing is left.
    assert [one.body for one in seen.sent] == [seen.sent[0].body] * 2


@pytest.mark.parametrize("dialect", TELLINGS)
async def test_nothing_is_withdrawn_where_nothing_was_shown(dialect):
    nothing = TELLINGS[dialect](stories.Story(WORDS)).events[:1] if dialect != "chat" else ()
    seen = await turn(
        dialect, Answer((b": ping\n\n", stories.written(nothing))), Answer((b"busy",), 503), whole(dialect)
    )
    assert seen.said == [("text_delta", 3)]
    assert [event.output_shown for event in seen.journal if isinstance(event, ModelFailed)] == [False, False]


@pytest.mark.parametrize("dialect", TELLINGS)
async def test_the_words_of_the_last_attempt_are_withdrawn_too(dialect):
    broken = Answer((begun(dialect),))
    seen = await turn(dialect, broken, broken, broken)
    assert seen.said == [(name, attempt) for attempt in (1, 2, 3) for name in ("text_delta", "partial_discarded")]
    assert (seen.result.reason, seen.result.text) == (StopReason.MODEL_ERROR, "")


async def replayed(store: MemoryStore):
    """Fold the journal from its header; the last state, and every order that followed from it alone."""
    header = decode_header((await store.read("s", from_start=True)).header)
    state, orders = start(header.session_id, header.config, header.at)
    for event in await journalled(store, "s"):
        state, commands = reduce(state, event)
        orders += commands
    return state, orders


@pytest.mark.req("D-13", "D-26", "R-141")
@pytest.mark.parametrize("share", [0, 0.5, 1])
async def test_a_replay_waits_and_asks_alike_whatever_the_dice_said(monkeypatch, share):
    monkeypatch.setattr(interpreters.agent, "_jitter", lambda most: round(most * share))
    seen = await turn("chat", Answer((b"busy",), 503), begun("chat"), whole("chat"), limits=JITTERY)
    (state, orders), again = await replayed(seen.store), await replayed(seen.store)
    assert (state, orders) == again
    assert state == seen.state
    requests = [order.attempt for order in orders if isinstance(order, RequestModel)]
    assert requests == [1, 2, 3]
    # What is ordered knows how far the dice may go, what is journalled when it was over; the throw itself is nowhere.
    waits = [order for order in orders if isinstance(order, StartTimer) and order.jitter_max_ms]
    fired = [event for event in seen.journal if isinstance(event, TimerFired)]
    assert [order.jitter_max_ms for order in waits] == [JITTERY.retry_jitter_ms] * 2
    assert [order.timer_id for order in waits] == [event.timer_id for event in fired]
    for order, event in zip(waits, fired, strict=True):
        assert event.at >= order.due_at + round(JITTERY.retry_jitter_ms * share)
