"""Words of the user: delivered exactly once, withdrawn, or still queued; import, clearing, configuration, reopening."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Policy, Verdict
from agentcore.events import (
    AbortScope,
    ConfigChanged,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    MessageWithdrawn,
    PromptSubmitted,
    SessionReopened,
    SteeringQueued,
)
from agentcore.messages import (
    Abandoned,
    AssistantMessage,
    MessageSource,
    Succeeded,
    TextPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import AwaitingModel, Because, Completed, Failed, Idle, Preparing, Saving
from tests.core.driver import Session, call, executing, tool


def delivered(session):
    """Ids of the user's messages in history."""
    return [message.message_id for message in session.history if isinstance(message, UserMessage)]


@pytest.mark.req("D-33", "R-239", "R-171", "R-172")
class TestPrompt:
    def test_begins_a_turn(self):
        session = Session()
        session.prompt("Hello.", message_id="p")
        assert session.phase is AwaitingModel
        assert delivered(session) == ["p"]

    def test_delivers_named_messages_first_and_in_the_order_named(self):
        session = Session()
        one, two = session.follow_up("One."), session.steer("Two.")
        session.prompt("And?", message_id="p", queued=(two, one))
        assert delivered(session) == [two, one, "p"]
        assert session.state.queues.follow_ups == ()

    def test_may_consist_of_queued_messages_only(self):
        session = Session()
        one = session.follow_up("One.")
        session.prompt("", queued=(one, one))
        assert delivered(session) == [one]

    def test_of_nothing_is_refused(self):
        judged = Session().tried(PromptSubmitted, message_id="p")
        assert judged.rejection.code is RejectionCode.EMPTY_PROMPT

    def test_that_names_a_message_that_is_not_queued_is_refused(self):
        session = Session()
        unknown = session.tried(PromptSubmitted, message_id="p", queued=("nope",))
        assert unknown.rejection.code is RejectionCode.UNKNOWN_MESSAGE
        gone = session.follow_up()
        session.withdraw(gone)
        withdrawn = session.tried(PromptSubmitted, message_id="p", queued=(gone,))
        assert withdrawn.rejection.code is RejectionCode.ALREADY_DELIVERED

    @pytest.mark.req("R-245")
    def test_told_twice_is_ignored_in_every_phase(self):
        session = Session()
        session.prompt(message_id="p")
        fields = {"message_id": "p", "parts": (TextPart("Do it."),)}
        assert session.tried(PromptSubmitted, **fields).reason == "message-known"
        session.answer()
        assert session.tried(PromptSubmitted, **fields).reason == "message-known"
        session.reopen()
        assert session.tried(PromptSubmitted, **fields).reason == "message-known"

    @pytest.mark.parametrize(
        "lead",
        [
            lambda _: None,
            lambda s: s.opened(),
            lambda s: s.model_fails(),
            lambda s: s.reply(call("write")),
            lambda s: s.abort(),
            lambda s: s.reply("Done."),
        ],
    )
    def test_while_a_turn_runs_is_refused_with_what_to_do(self, lead):
        session = Session(tool())
        session.prompt()
        lead(session)
        judged = session.tried(PromptSubmitted, message_id="p2", parts=(TextPart("x"),))
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.TURN_IN_PROGRESS, Blame.HOST)
        assert judged.rejection.advice == "Queue it as follow-up or steering."

    def test_after_an_end_is_refused_until_the_session_is_reopened(self):
        session = Session()
        session.prompt()
        session.answer()
        judged = session.tried(PromptSubmitted, message_id="p2", parts=(TextPart("x"),))
        assert judged.rejection.code is RejectionCode.TURN_ENDED
        session.reopen()
        session.prompt()
        assert session.state.turn.number == 2

    @pytest.mark.req("R-025", "R-049")
    def test_messages_accumulate_over_turns_and_sessions_share_nothing(self):
        one, two = Session(), Session()
        one.prompt("One.")
        one.answer()
        one.reopen()
        one.prompt("Two.")
        assert one.said == ("prompt: One.", "model: Done.", "prompt: Two.")
        assert two.said == ()


@pytest.mark.req("R-172", "R-135", "R-050", "D-9")
class TestQueues:
    PHASES = (
        lambda _: None,
        lambda s: s.prompt(),
        lambda s: (s.prompt(), s.opened()),
        lambda s: (s.prompt(), s.model_fails()),
        lambda s: s.propose("write"),
        lambda s: (s.prompt(), s.abort()),
        lambda s: (s.prompt(), s.reply("Done.")),
        lambda s: (s.prompt(), s.abort(), s.model_stops(), s.all_saved()),
    )

    @pytest.mark.parametrize("lead", PHASES)
    @pytest.mark.parametrize("kind", [SteeringQueued, FollowUpQueued])
    def test_take_messages_in_every_phase_and_each_once(self, lead, kind):
        session = Session(tool())
        lead(session)
        before = session.phase
        session.give(kind, message_id="m", parts=(TextPart("x"),))
        assert session.phase is before
        again = session.tried(kind, message_id="m", parts=(TextPart("other"),))
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "message-known")

    @pytest.mark.parametrize("lead", PHASES)
    def test_give_messages_back_in_every_phase(self, lead):
        session = Session(tool())
        lead(session)
        one, two = session.steer(), session.follow_up()
        session.withdraw(one)
        session.withdraw(two)
        assert (session.state.queues.steering, session.state.queues.follow_ups) == ((), ())
        again = session.tried(MessageWithdrawn, message_id=one)
        assert again.rejection.code is RejectionCode.ALREADY_DELIVERED

    def test_cannot_give_back_what_was_delivered_or_never_was(self):
        session = Session()
        session.prompt(message_id="p")
        assert session.tried(MessageWithdrawn, message_id="p").rejection.code is RejectionCode.ALREADY_DELIVERED
        assert session.tried(MessageWithdrawn, message_id="q").rejection.code is RejectionCode.UNKNOWN_MESSAGE

    def test_deliver_all_steering_at_the_next_step_in_order(self):
        session = Session(tool("read", Effect.PURE))
        session.execute("read")
        one, two = session.steer("One."), session.steer("Two.")
        session.succeed()
        assert delivered(session)[-2:] == [one, two]
        assert session.state.queues.steering == ()

    def test_deliver_what_waited_from_before_with_the_first_request(self):
        session = Session()
        steered = session.steer("Early.")
        session.prompt(message_id="p")
        assert delivered(session) == ["p", steered]

    def test_keep_follow_ups_while_the_turn_goes_on(self):
        session = executing(Effect.PURE)
        queued = session.follow_up()
        session.succeed()
        assert [item.message_id for item in session.state.queues.follow_ups] == [queued]

    @pytest.mark.req("D-9", "D-10")
    def test_survive_an_abort_and_are_delivered_on_an_explicit_act(self):
        session = Session()
        session.prompt(message_id="p")
        one = session.steer()
        session.abort()
        session.model_stops()
        session.all_saved()
        session.reopen()
        assert session.phase is Idle
        session.prompt("", queued=(one,))
        assert delivered(session) == ["p", one]

    def test_survive_a_resume(self):
        session = Session()
        session.prompt()
        session.steer(message_id="s")
        session.resume()
        session.reply("Done.")
        assert delivered(session)[-1] == "s"


class TestReopening:
    @pytest.mark.req("R-059")
    def test_leads_from_every_end_to_idle(self):
        from tests.core.test_policy import ENDS, reach

        for reason in ENDS:
            session = reach(reason)
            session.reopen()
            assert session.phase is Idle
            session.prompt()
            assert session.state.turn.number == 2

    def test_of_what_is_open_is_ignored_in_idle_and_refused_in_a_turn(self):
        session = Session()
        idle = session.tried(SessionReopened)
        assert (idle.verdict, idle.reason) == (Verdict.IGNORED, "already-open")
        session.prompt()
        assert session.tried(SessionReopened).rejection.code is RejectionCode.NOT_EXPECTED_HERE

    def test_keeps_register_history_and_queues(self):
        session = executing(Effect.OPAQUE)
        session.abort()
        session.abort()
        session.all_saved()
        session.follow_up()
        before = (session.register, session.history, session.state.queues)
        session.reopen()
        assert (session.register, session.history, session.state.queues) == before


class TestIdleOnly:
    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (HistoryImported, {"messages": ()}),
            (HistoryCleared, {}),
            (ConfigChanged, {"config": Session().state.config}),
        ],
    )
    def test_import_clearing_and_configuration_are_refused_elsewhere(self, kind, fields):
        session = Session()
        session.prompt()
        assert session.tried(kind, **fields).rejection.code is RejectionCode.NOT_EXPECTED_HERE
        session.answer()
        assert session.tried(kind, **fields).rejection.code is RejectionCode.NOT_EXPECTED_HERE

    def test_a_changed_configuration_is_in_force(self):
        session = Session(tool())
        session.configure(tools=(tool("read", Effect.PURE),), policy=Policy(sequential=True))
        assert session.because is Because.CONFIG_CHANGED
        session.execute("read", "read")
        assert list(session.calls.values()) == ["Executing", "Ready"]

    def test_clearing_moves_the_window_and_begins_with_an_empty_context(self):
        session = Session(limits=Limits(compact_at_tokens=50))
        session.prompt()
        session.model_fails()
        session.fire("retry/1.1")
        session.answer()
        session.reopen()
        session.clear()
        assert (session.state.window.start, session.state.window.media_to) == (2, 2)
        assert session.state.turn.context_tokens == 0
        session.prompt()
        assert session.said[-1] == "prompt: Do it."


def user(text, message_id="u"):
    return UserMessage(message_id, MessageSource.PROMPT, (TextPart(text),))


def model(*parts):
    return AssistantMessage("old", 3, 7, tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def results(*pairs):
    return ToolMessage("old", tuple(ToolResult("x", pid, "wrong", text, Succeeded(text)) for pid, text in pairs))


@pytest.mark.req("D-35", "R-150")
class TestImport:
    def test_a_whole_history_is_taken_in_as_it_is(self):
        session = Session(tool())
        session.bring(user("Hi."), model(call("write", "a")), results(("a", "done")), model("Bye."))
        assert session.said == ("prompt: Hi.", "model: write", "results: done", "model: Bye.")
        assert session.state.turn.step == 2
        assert dict(session.state.phase.transition.evidence) == {"messages": "4"}
        assert "persist-checkpoint 1" in session.commands

    def test_ids_become_ours(self):
        session = Session()
        session.bring(user("Hi."), model(call("write", "a")), results(("a", "done")))
        assert [message.request_id for message in session.history[1:]] == ["1.1", "1.1"]
        assert (session.results[0].call_id, session.results[0].name) == ("1.1.0", "write")
        assert (session.history[1].epoch, session.history[1].attempt) == (0, 0)

    def test_a_call_without_a_result_gets_one_that_says_so(self):
        session = Session()
        session.bring(model(call("write", "a"), call("write", "b")), results(("b", "done")))
        assert [result.provider_id for result in session.results] == ["a", "b"]
        assert session.results[0].outcome == Abandoned("import")
        assert "may have happened" in session.results[0].content
        assert dict(session.state.phase.transition.evidence)["answered"] == "a"

    def test_a_call_at_the_end_gets_a_result(self):
        session = Session()
        session.bring(user("Hi."), model(call("write", "a")))
        assert session.said[-1].startswith("results: Interrupted")

    def test_a_call_before_a_users_message_gets_a_result_before_it(self):
        session = Session()
        session.bring(model(call("write", "a")), user("Hello?"))
        assert [type(message) for message in session.history] == [AssistantMessage, ToolMessage, UserMessage]

    def test_a_result_without_a_call_is_set_aside(self):
        session = Session()
        session.bring(results(("z", "lost")), user("Hi."), model("Yes."), results(("y", "also")))
        assert session.results == ()
        assert dict(session.state.phase.transition.evidence)["set_aside"] == "z, y"

    def test_every_result_without_a_call_is_named_however_many_there_are(self):
        session = Session()
        session.bring(results(("x", "lost")), user("Hi."), results(("y", "too"), ("z", "also")), model(" "))
        assert dict(session.state.phase.transition.evidence)["set_aside"] == "x, y, z, old"

    def test_a_second_result_and_a_second_call_of_one_id_are_set_aside(self):
        session = Session()
        session.bring(model(call("write", "a"), call("write", "a", x=2)), results(("a", "one"), ("a", "two")))
        assert [result.content for result in session.results] == ["one"]
        assert dict(session.state.phase.transition.evidence)["set_aside"] == "a, a"

    def test_one_message_for_each_result_is_one_batch(self):
        session = Session()
        session.bring(model(call("write", "a"), call("write", "b")), results(("b", "two")), results(("a", "one")))
        assert [result.content for result in session.results] == ["one", "two"]
        assert "set_aside" not in dict(session.state.phase.transition.evidence)
        assert len(session.history) == 2

    def test_calls_without_provider_ids_are_kept_apart(self):
        session = Session()
        session.bring(model(call("write", "", x=1), call("write", "", x=2)))
        assert len(session.results) == 2
        assert len({result.provider_id for result in session.results}) == 2

    def test_a_message_of_the_model_without_anything_to_send_is_set_aside_with_its_results(self):
        session = Session()
        session.bring(user("Hi."), model(" "), results(("z", "lost")), model("Yes."))
        assert session.said == ("prompt: Hi.", "model: Yes.")
        assert dict(session.state.phase.transition.evidence)["set_aside"] == "old, z"
        assert session.state.turn.step == 1

    def test_slips_of_another_engine_are_made_fit_to_be_sent(self):
        session = Session()
        session.bring(model(call("write", "a", raw="{,"), "Behind a call."), results(("a", "done")))
        parts = session.history[0].parts
        assert [type(part).__name__ for part in parts] == ["TextPart", "ToolCallPart"]
        assert parts[1].arguments == "{}"

    def test_a_call_that_the_provider_ran_is_left_alone(self):
        from attrs import evolve

        session = Session()
        session.bring(model(evolve(call("search", "a"), provider_executed=True), "Found."))
        assert session.results == ()

    def test_mending_what_was_mended_changes_nothing(self):
        once, twice = Session(), Session()
        once.bring(model(call("write", "a")), user("Hi."), results(("z", "lost")))
        twice.bring(*once.history)
        assert [message.parts for message in twice.history if isinstance(message, UserMessage)] == [
            message.parts for message in once.history if isinstance(message, UserMessage)
        ]
        assert twice.results == once.results

    def test_of_nothing_is_taken_in(self):
        session = Session()
        judged = session.tried(HistoryImported, messages=())
        assert judged.verdict is not Verdict.REJECTED

    def test_a_message_that_is_queued_is_not_delivered_twice(self):
        session = Session()
        session.follow_up(message_id="m")
        session.bring(user("And then?", "m"))
        session.tried(PromptSubmitted, message_id="p", parts=(TextPart("x"),), queued=("m",))
        assert delivered(session).count("m") <= 1

    def test_no_request_goes_out_before_it_is_durable(self):
        session = Session()
        session.bring(user("Hi."), model("Yes."))
        session.prompt()
        assert session.phase is Preparing
        session.all_saved()
        assert session.phase is AwaitingModel

    @pytest.mark.req("R-192")
    def test_that_cannot_be_saved_ends_the_turn_and_bricks_nothing(self):
        session = Session(limits=Limits(checkpoint_retries=1))
        session.bring(user("Hi."), model("Yes."))
        session.storage_breaks()
        session.prompt()
        assert session.waits, "somebody has to bring the checkpoint that is waited for"
        while session.phase is Preparing:
            session.save_fails()
            if session.phase is Preparing:
                session.fire("checkpoint")
        session.all_saved()
        assert session.phase is Failed
        session.reopen()
        session.prompt()
        session.all_saved()
        assert session.phase is AwaitingModel

    def test_that_is_not_saved_yet_waits_over_a_resume(self):
        session = Session()
        session.bring(user("Hi."))
        session.prompt()
        session.resume()
        assert session.phase is Preparing
        session.all_saved()
        assert session.phase is AwaitingModel

    def test_ids_of_later_turns_do_not_meet_those_of_the_import(self):
        session = Session(tool())
        session.bring(model(call("write", "a")), results(("a", "one")))
        session.all_saved()
        session.execute("write")
        assert list(session.calls) == ["2.1.0"]

    def test_several_imports_stand_behind_each_other(self):
        session = Session()
        session.bring(user("One.", "1"), model("A."))
        session.bring(user("Two.", "2"), model("B."))
        assert session.said == ("prompt: One.", "model: A.", "prompt: Two.", "model: B.")


def test_an_ended_session_lists_what_still_waits():
    session = Session()
    session.prompt()
    session.abort(AbortScope.AFTER_STEP)
    session.follow_up(message_id="f")
    session.reply("Done.")
    assert session.phase is Saving
    session.all_saved()
    assert session.phase is Completed
    assert [item.message_id for item in session.state.queues.follow_ups] == ["f"]
