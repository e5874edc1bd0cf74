"""The simulated world: what a disk loses, what a letter tells, and that whatever is claimed is held against deeds."""

from __future__ import annotations

import pytest

from agentcore.commands import ExecuteTool, InspectEffect, PersistCheckpoint, RequestModel
from agentcore.events import DamageKind, FollowUpQueued, MessageWithdrawn, PromptSubmitted, ToolFailed, ToolSucceeded
from agentcore.messages import Abandoned, CancelledCall, EffectSeen, FinishReason, Succeeded, TextPart, ToolCallPart
from agentcore.policy import Config, Effect, ToolContract
from agentcore.states import Completed, EffectUnknown, Idle
from agentcore.testing.passage import find_call
from agentcore.testing.script import Reply, calling
from agentcore.testing.simulation import CLAIMS, MANNERS, Simulation, calm, problem_of, wake_everybody
from agentcore.testing.simulation.claims import claims
from agentcore.testing.strategies import TOOLS, seeded, spent
from agentcore.testing.world import Deed

TEXT = (TextPart("Do it."),)


def begun(effect=Effect.OPAQUE, **contract):
    """A session that has executed one call of a tool with an effect."""
    within = {"acts_within_ms": 1_500} if effect is Effect.INSPECTABLE else {}
    sim = Simulation(Config((ToolContract("acts", effect, **within, **contract),)))
    sim.arrives(PromptSubmitted(at=0, message_id="m", parts=TEXT))
    sim.replies(sim.orders(RequestModel)[0], calling("acts"))
    for _ in range(4):
        for command in sim.waiting:
            if isinstance(command, PersistCheckpoint):
                sim.saves(command, "written")
            elif not isinstance(command, ExecuteTool):
                sim.makes(sim.moves(command)[0]) if "policy" in type(command).__name__.lower() else None
    assert sim.orders(ExecuteTool)
    return sim


def done(sim, *, late):
    """Let the deed be done and told."""
    move = next(each for each in sim.moves(sim.orders(ExecuteTool)[0]) if isinstance(each.event, ToolSucceeded))
    sim.makes(move, late=late)


def test_a_deed_is_done_before_its_letter_arrives():
    sim = begun()
    done(sim, late=True)
    assert [each.deed for each in sim.world.attempts] == [Deed.DONE]
    assert not list(claims(sim.state))
    assert problem_of(sim) is None
    sim.arrives(sim.letters.pop().event)
    assert any(isinstance(claim.outcome, Succeeded) for claim in claims(sim.state))
    assert problem_of(sim) is None


def test_a_crash_takes_what_was_not_saved_and_no_deed():
    sim = begun()
    done(sim, late=False)
    sim.crash(sim.disk.synced)
    assert isinstance(find_call(sim.state, "1.1.0").state, EffectUnknown)
    assert [each.deed for each in sim.world.attempts] == [Deed.DONE]
    assert problem_of(sim) is None


def test_a_message_that_a_crash_took_may_be_said_again():
    sim = Simulation(Config())
    said = FollowUpQueued(at=0, message_id="f", parts=TEXT)
    sim.arrives(said)
    sim.crash(0)
    assert sim.heard == {}
    assert sim.strays(said)
    assert problem_of(sim) is None
    assert [queued.message_id for queued in sim.state.queues.follow_ups] == ["f"]


@pytest.mark.parametrize(
    ("how", "durable"), [("written", 2), ("after", 2), ("half-way", 1), ("before", 0)], ids=lambda each: str(each)
)
def test_a_store_fails_before_half_way_or_after(how, durable):
    sim = Simulation(Config())
    sim.arrives(PromptSubmitted(at=0, message_id="m", parts=TEXT))
    sim.replies(sim.orders(RequestModel)[0], Reply(TEXT))
    sim.saves(sim.orders(PersistCheckpoint)[0], how)
    assert sim.disk.synced == durable
    assert isinstance(sim.state.phase, Completed) == (how == "written")


def test_half_a_line_is_set_aside_and_said():
    sim = Simulation(Config())
    sim.arrives(PromptSubmitted(at=0, message_id="m", parts=TEXT))
    sim.crash(0, torn=True)
    assert sim.told[-1].recovery.damage is DamageKind.TORN_TAIL
    assert isinstance(sim.state.phase, Idle)


def test_a_line_that_rots_makes_every_call_behind_it_suspect():
    sim = begun()
    done(sim, late=False)
    assert problem_of(sim) is None
    sim.crash(len(sim.disk), rotten=2)
    assert sim.told[-1].recovery.damage is DamageKind.MIDDLE
    assert [suspect.call_id for suspect in sim.told[-1].recovery.suspects] == ["1.1.0"]
    assert isinstance(find_call(sim.state, "1.1.0").state, EffectUnknown)
    assert problem_of(sim) is None


def test_what_comes_back_is_read_from_bytes_and_a_snapshot():
    sim = begun()
    for number in range(9):
        sim.arrives(FollowUpQueued(at=0, message_id=f"f{number}", parts=TEXT))
    done(sim, late=False)
    sim.saves(sim.orders(PersistCheckpoint)[0], "written")
    lived = sim.state
    sim.crash(len(sim.disk))
    read, kept = sim.restored
    assert read == kept == lived
    assert read is not lived


@pytest.mark.parametrize("effect", [Effect.OPAQUE, Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE])
@pytest.mark.parametrize("gives_up", [False, True])
def test_a_paused_worker_that_wakes_up_in_the_end_makes_nobody_a_liar(effect, gives_up):
    sim = begun(effect)
    sim.crash(sim.disk.synced)
    assert calm(sim, gives_up=gives_up) is None
    wake_everybody(sim)
    assert problem_of(sim) is None


def test_a_calm_world_says_where_a_turn_does_not_end():
    sim = begun()
    assert calm(sim, answers_max=1).startswith("every-turn-ends: ")


def test_a_program_says_nothing_of_an_attempt_that_never_was():
    sim = begun(Effect.FENCEABLE)
    sim.crash(len(sim.disk), rotten=1)
    looks = sim.orders(InspectEffect)
    assert all(not sim._is_phantom(command) for command in looks)
    sim.world = type(sim.world)(sim.world.now)
    sim = begun(Effect.FENCEABLE)
    sim.crash(sim.disk.synced)
    sim.world = type(sim.world)(sim.world.now)
    look = sim.orders(InspectEffect)[0]
    assert {move.event.finding.value for move in sim.moves(look)} == {"unavailable"}


def test_a_stranger_that_would_lie_is_not_told():
    sim = begun()
    own = {"at": 0, "call_id": "1.1.0", "epoch": 0, "attempt": 1}
    assert not sim.strays(ToolSucceeded(**own, result="done"))
    assert isinstance(sim.orders(ExecuteTool)[0], ExecuteTool)


@pytest.mark.parametrize("manner", MANNERS)
def test_models_reply_in_every_manner_whatever_tools_there_are(manner):
    for number in range(60):
        for config in (Config(TOOLS), Config()):
            assert isinstance(MANNERS[manner](config, spent(number)), Reply)
    if manner in ("calls", "repeats", "floods"):
        reply = MANNERS[manner](Config(TOOLS), seeded(1))
        assert reply.finish is FinishReason.TOOL_CALLS
        assert all(isinstance(part, ToolCallPart) for part in reply.parts)


def test_every_claim_holds_of_a_session_in_which_nothing_happened():
    assert problem_of(Simulation(Config())) is None
    assert len(CLAIMS) == 11


def test_what_was_given_up_is_neither_claimed_nor_denied():
    assert Abandoned("user") != CancelledCall(EffectSeen.UNPROVED)
    sim = begun()
    sim.crash(sim.disk.synced)
    calm(sim, gives_up=True)
    assert any(isinstance(claim.outcome, Abandoned) for claim in claims(sim.state))
    wake_everybody(sim)
    assert problem_of(sim) is None


def test_an_attempt_that_will_never_act_tells_no_success():
    sim = begun(Effect.FENCEABLE)
    order = sim.orders(ExecuteTool)[0]
    attempt = sim.world.find(order.call_id, (order.epoch, order.attempt))
    sim.world = sim.world.told(attempt, Deed.VOID)
    told = {type(move.event) for move in sim.moves(order)}
    assert ToolSucceeded not in told
    assert ToolFailed in told


def test_words_that_were_taken_back_need_not_be_delivered():
    sim = begun()
    sim.arrives(FollowUpQueued(at=0, message_id="f", parts=TEXT))
    sim.arrives(MessageWithdrawn(at=0, message_id="f"))
    assert sim.withdrawn == {"f": sim.state.seq}
    assert problem_of(sim) is None
