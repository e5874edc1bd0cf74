"""An effect that no program can ask about: the session waits for a person, and never does it again by itself."""

from __future__ import annotations

import attrs
import pytest

from agentcore.commands import InspectEffect
from agentcore.events import Inspector, Resolution
from agentcore.messages import Abandoned, ProvedBy, Succeeded
from agentcore.projections import InspectCall, ResolveCall, RetryCall, pending_acts
from agentcore.states import EffectUnknown, StopReason
from tests.kill.evidence import results_of
from tests.kill.program import ANSWER, agent
from tests.kill.world import SESSION

MOMENTS = ("write:before program.note #1", "write:after program.note #1")
"""Just before the deed, and just after it: from outside nobody can tell which."""


@pytest.fixture(params=MOMENTS)
def killed(request, runs):
    """A world whose run was killed in the middle of its effect."""
    opaque = attrs.evolve(runs, job=attrs.evolve(runs.job, scene="opaque"))
    world = opaque.world()
    assert opaque.run(world, request.param)
    return opaque.job, world


async def unknown(session) -> EffectUnknown:
    """Wait until the session says that it does not know."""
    async for shown in session.views(0):
        batch = shown.view.state.batch if shown.name == "state" else None
        if batch and isinstance(batch.calls[0].state, EffectUnknown):
            return batch.calls[0].state
    raise AssertionError("it never said so")


@pytest.mark.anyio
@pytest.mark.req("R-155", "R-156", "R-158", "R-162", "R-208")
async def test_the_turn_waits_for_a_person_and_refuses_to_try_again(killed):
    job, world = killed
    before = world.deeds()
    async with agent(job, world).open(SESSION) as session:
        assert (await unknown(session)).inquiry.by is Inspector.PERSON
        assert [order.by for order in session._engine.waited if isinstance(order, InspectEffect)] == [Inspector.PERSON]
        acts = {type(act) for act in pending_acts(session.state)}
        assert acts >= {InspectCall, ResolveCall}
        assert RetryCall not in acts
        refused = await session.retry("1.1.0")
        assert refused.rejection.code == "effect-not-proved-absent"
        assert session.state.open
    assert world.deeds() == before


@pytest.mark.anyio
@pytest.mark.req("R-155")
async def test_the_question_stays_open_over_any_number_of_processes(killed):
    """Nothing is under way, so looking again and again uses nothing up."""
    job, world = killed
    before = world.deeds()
    for _ in range(6):
        async with agent(job, world).open(SESSION) as session:
            await unknown(session)
            assert session.state.open
    assert world.deeds() == before


@pytest.mark.anyio
async def test_what_the_person_says_is_what_the_turn_goes_on_with(killed):
    job, world = killed
    async with agent(job, world).open(SESSION) as session:
        await unknown(session)
        if world.deeds():
            await session.resolve("1.1.0", Resolution.EXECUTED, "it is on the list", by="ann")
        else:
            await session.resolve("1.1.0", Resolution.NOT_EXECUTED, retry=True, by="ann")
        result = await session.wait()
    outcome = results_of(session.state)["note"].outcome
    assert (result.reason, result.text, result.unresolved) == (StopReason.FINAL_ANSWER, ANSWER, ())
    assert isinstance(outcome, Succeeded)
    assert outcome.proved_by in (ProvedBy.PERSON, ProvedBy.ATTEMPT)
    assert world.deeds() == ["tea"]


@pytest.mark.anyio
async def test_where_nobody_is_there_the_effect_is_given_up_and_said_to_be_open(killed):
    job, world = killed
    before = world.deeds()
    result = await agent(job, world).run("What became of it?", session_id=SESSION)
    assert world.deeds() == before
    assert result.unresolved == ("1.1.0",)
    async with agent(job, world).open(SESSION) as session:
        assert isinstance(results_of(session.state)["note"].outcome, Abandoned)
        assert (await session.resolve("1.1.0", Resolution.EXECUTED, by="ann")).accepted
        assert session.result.unresolved == ()
    assert world.deeds() == before
