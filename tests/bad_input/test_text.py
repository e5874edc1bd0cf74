"""Half surrogate pairs and numbers that are none, in what a host or a user says: refused by name, or made storable."""

from __future__ import annotations

import math

import pytest

from agentcore import Limits
from agentcore.codec import EncodeError
from agentcore.events import Resolution
from agentcore.messages import TextPart
from interpreters import Hooks, ScriptedModel
from interpreters.engine import read_state
from interpreters.scripted import Ask, Say
from tests.bad_input.sessions import agent, answers, calling, echo, goes_on, results

BROKEN = "half \ud83d pair"
MENDED = "half \ufffd pair"


@pytest.mark.anyio
async def test_what_a_user_types_is_made_storable(tmp_path):
    model = ScriptedModel([Say("one"), Say("two")])
    async with agent(tmp_path, model=model).open("s", create=True) as session:
        await session.send(BROKEN)
        await session.follow_up(BROKEN)
        await session.wait()
    heard = [message.parts[0].text for message in (await read_state(agent(tmp_path).store, "s")).history][::2]
    assert heard == [MENDED, MENDED]
    await goes_on(tmp_path, "s")


REFUSED = {
    "a part of a message": lambda session: session.send((TextPart(BROKEN),)),
    "a part that steers": lambda session: session.steer((TextPart(BROKEN),)),
    "the id of a message": lambda session: session.send("fine", message_id=BROKEN),
    "a configuration": lambda session: session.configure(lambda _: BROKEN),
    "a message of an import": lambda session: session.import_history([BROKEN]),
}


@pytest.mark.anyio
@pytest.mark.parametrize("what", REFUSED)
async def test_what_a_host_hands_over_and_cannot_be_stored_is_refused_with_its_place(tmp_path, what):
    async with agent(tmp_path).open("s", create=True) as session:
        before = session.state
        with pytest.raises(EncodeError, match=r"cannot write \$\.\w+.*: "):
            await REFUSED[what](session)
        assert session.state is before
        await session.send("still there?")
        assert (await session.wait()).text == "done"
    await goes_on(tmp_path, "s")


HARMLESS = {
    "an unknown message": lambda session: session.withdraw(BROKEN),
    "an unknown call": lambda session: session.inspect(BROKEN),
    "an unknown effect": lambda session: session.resolve(BROKEN, Resolution.EXECUTED, BROKEN, by=BROKEN),
    "an unknown question": lambda session: session.deny(BROKEN, BROKEN),
    "a late approval": lambda session: session.approve(BROKEN, arguments=BROKEN),
    "an abort of nothing": lambda session: session.abort(act_id=BROKEN),
}


@pytest.mark.anyio
@pytest.mark.parametrize("what", HARMLESS)
async def test_what_is_refused_for_other_reasons_changes_nothing_whatever_is_written_in_it(tmp_path, what):
    async with agent(tmp_path).open("s", create=True) as session:
        before = session.state
        assert not (await HARMLESS[what](session)).accepted
        assert session.state is before
    await goes_on(tmp_path, "s")


@pytest.mark.anyio
async def test_a_model_that_says_what_cannot_be_stored_has_failed_and_is_told_why(tmp_path):
    """A model of the host's own; the ones that come with this package clean what they read."""
    async with agent(tmp_path, Say(BROKEN)).open("s", create=True) as session:
        await session.send("go")
        result = await session.wait()
    assert (
        "its answer cannot be used: EncodeError: cannot write $.parts[0].text: half a surrogate" in result.explanation
    )
    await goes_on(tmp_path, "s")


@pytest.mark.anyio
async def test_a_hook_that_makes_texts_nobody_can_store_spoils_only_its_own(tmp_path):
    hooks = Hooks(after_tool=lambda said: said.text + BROKEN, review_completion=lambda _: None)
    working = agent(tmp_path, *calling(Ask("echo", {"text": "x"})), tools=[echo], hooks=hooks)
    async with working.open("s", create=True) as session:
        await session.send("go")
        await session.wait()
        assert results(session.state) == ["x" + MENDED]
        assert answers(session.state)[-1] == "done"
    await goes_on(tmp_path, "s")


@pytest.mark.parametrize("value", [math.nan, 1.5, "3", True, -1])
def test_a_limit_that_is_no_number_is_refused_with_its_name(value):
    with pytest.raises(ValueError, match=r"limits.steps is .*: expected a whole number from 0 on, or None"):
        Limits(steps=value)
