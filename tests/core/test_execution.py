"""Release and slots: which calls run when, what waits for a checkpoint, and how results reach the model."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, outstanding
from agentcore.commands import ExecuteTool, key_of
from agentcore.messages import Artifact, Succeeded
from agentcore.states import AwaitingModel, Because, RunningTools
from tests.core.driver import Session, call, executing, tool, unknown


@pytest.mark.req("G-12", "R-192", "R-187")
class TestTheIntentIsDurableFirst:
    @pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.PURE])
    def test_what_acts_starts_only_when_a_checkpoint_covers_its_release(self, effect):
        session = Session(tool("write", effect))
        session.propose("write")
        session.allow()
        released = session.call().state.run.seq
        assert session.calls == {"1.1.0": "Released"}
        session.saved()
        assert session.calls == {"1.1.0": "Released"}, "that one was ordered before the release"
        session.saved()
        assert session.state.storage.durable >= released
        assert session.commands == ("execute-tool 1.1.0", "start-timer deadline/1.1.0")

    def test_a_read_starts_at_its_release(self):
        session = Session(tool("read", Effect.PURE))
        session.propose("read")
        session.allow()
        assert session.calls == {"1.1.0": "Executing"}
        assert "execute-tool 1.1.0" in session.commands

    def test_a_deadline_counts_from_when_the_attempt_can_act(self):
        session = Session(tool(timeout_ms=100))
        session.propose("write")
        session.allow()
        session.wait(5_000)
        session.all_saved()
        assert session.call().state.run.due_at == session.now + 100

    def test_each_attempt_is_ordered_once(self):
        session = executing(Effect.KEYED)
        session.lose()
        session.all_saved()
        session.succeed()
        keys = [command for line in session.trace for command in line.commands if command.startswith("execute-tool")]
        assert keys == ["execute-tool 1.1.0"] * 2
        assert session.result().attempt == 2


@pytest.mark.req("R-123", "D-4")
class TestSlots:
    def test_calls_start_in_source_order_as_slots_become_free(self):
        session = executing(Effect.PURE, calls=4, limits=Limits(max_parallel=2))
        assert list(session.calls.values()) == ["Executing", "Executing", "Ready", "Ready"]
        session.succeed("1.1.1")
        assert list(session.calls.values()) == ["Executing", "Settled", "Executing", "Ready"]
        session.succeed("1.1.0")
        assert list(session.calls.values()) == ["Settled", "Settled", "Executing", "Executing"]

    def test_a_released_call_holds_a_slot(self):
        session = Session(tool(), limits=Limits(max_parallel=1))
        session.propose("write", "write")
        session.allow()
        session.allow()
        assert list(session.calls.values()) == ["Released", "Ready"]

    def test_an_unknown_call_holds_a_slot(self):
        session = unknown(calls=2, limits=Limits(max_parallel=1))
        assert list(session.calls.values()) == ["EffectUnknown", "Ready"]

    def test_a_cancelled_call_holds_a_slot_until_it_confirms(self):
        from agentcore.events import AbortScope

        session = executing(calls=2, limits=Limits(max_parallel=1))
        session.abort(AbortScope.CALL, "1.1.0")
        assert list(session.calls.values()) == ["CancellationRequested", "Ready"]
        session.stopped()
        assert list(session.calls.values()) == ["Settled", "Released"]

    def test_an_exclusive_call_waits_for_all_and_holds_all(self):
        session = Session(tool("read", Effect.PURE), tool("build", Effect.PURE, exclusive=True))
        session.execute("read", "build", "read")
        assert list(session.calls.values()) == ["Executing", "Ready", "Ready"]
        session.succeed("1.1.0")
        assert list(session.calls.values()) == ["Settled", "Executing", "Ready"]
        session.succeed("1.1.1")
        assert list(session.calls.values()) == ["Settled", "Settled", "Executing"]

    def test_an_exclusive_call_runs_at_once_where_nothing_else_does(self):
        session = Session(tool("build", Effect.PURE, exclusive=True))
        session.execute("build")
        assert session.calls == {"1.1.0": "Executing"}

    def test_commands_come_in_source_order_each_followed_by_its_timer(self):
        session = executing(Effect.PURE, calls=2)
        assert session.waits == (
            "execute-tool 1.1.0",
            "start-timer deadline/1.1.0",
            "execute-tool 1.1.1",
            "start-timer deadline/1.1.1",
        )


class TestResults:
    @pytest.mark.req("R-052", "R-079")
    def test_a_success_keeps_its_evidence(self):
        session = executing()
        artifact = Artifact("a", "out/a.txt", "ab" * 32)
        session.succeed(
            result="written", summary="one file", duration_ms=12, resource_version="v2", artifacts=(artifact,)
        )
        assert session.outcome() == Succeeded("written", "one file", 12, "v2", (artifact,))

    @pytest.mark.req("R-128", "R-210", "D-3")
    def test_every_declared_call_has_one_result_with_its_real_ids(self):
        session = Session(tool(), tool("read", Effect.PURE))
        session.propose(call("write", "a"), call("nope", "b"), call("read", "c", raw="[]"), call("read", "d"))
        session.block("1.1.0")
        session.allow("1.1.3")
        session.succeed("1.1.3")
        assert [(result.call_id, result.provider_id, result.name) for result in session.results] == [
            ("1.1.0", "a", "write"),
            ("1.1.1", "b", "nope"),
            ("1.1.2", "c", "read"),
            ("1.1.3", "d", "read"),
        ]

    @pytest.mark.req("R-129", "R-044", "D-17")
    def test_message_and_results_are_written_in_one_transition_and_the_batch_is_gone(self):
        session = executing(calls=2)
        session.succeed("1.1.0")
        assert len(session.history) == 1
        session.succeed("1.1.1")
        assert len(session.history) == 3
        assert session.state.batch is None
        assert session.phase is AwaitingModel

    @pytest.mark.req("R-133")
    def test_a_result_says_which_arguments_ran(self):
        session = Session(tool("read", Effect.PURE))
        session.propose(call("read", path="a"), call("read", path="b"))
        session.allow("1.1.0", '{"path":"safe/a"}')
        session.block("1.1.1")
        session.succeed("1.1.0")
        assert [result.arguments for result in session.results] == ['{"path":"safe/a"}', ""]
        assert [result.attempt for result in session.results] == [1, 0]

    @pytest.mark.req("D-19")
    def test_each_end_wants_a_checkpoint_of_its_own(self):
        session = executing(Effect.PURE, calls=2)
        session.all_saved()
        session.succeed("1.1.0")
        assert session.commands == (f"persist-checkpoint {session.state.seq}",)

    @pytest.mark.req("D-6")
    def test_text_beside_calls_ends_nothing(self):
        session = Session(tool("read", Effect.PURE))
        session.prompt()
        session.reply("I read first.", call("read"))
        assert session.phase is RunningTools
        session.allow()
        session.succeed()
        assert session.phase is AwaitingModel

    def test_hops_of_the_last_result_name_every_move(self):
        session = executing()
        session.succeed()
        assert session.hops == (Because.RESULTS_APPENDED, Because.STEP_BEGUN, Because.REQUEST_READY)


@pytest.mark.req("R-008", "R-137", "D-25")
def test_an_order_to_execute_refers_to_a_call_that_stands_in_the_state():
    session = executing()
    order = next(each for each in outstanding(session.state) if isinstance(each, ExecuteTool))
    assert key_of(order) == ("execute-tool", "1.1.0", 0, 1)
    assert session.call(order.call_id).arguments == '{"x":0}'
