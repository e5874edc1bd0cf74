"""Every hook of the host: what it may change, what happens when it fails, and that it is traced."""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Limits, ModelSettings
from agentcore.events import AbortScope, Finding, SteeringQueued
from agentcore.messages import DeniedCall, InvalidCall, MessageSource, Succeeded, TextPart, UserMessage
from agentcore.states import StopReason
from interpreters.engine.hooks import Block, Change, Hooks
from interpreters.stores.memory import MemoryJournal, MemoryStore
from interpreters.support.ports import InboxMessage
from tests.engine.rig import (
    Allow,
    Rig,
    ScriptedModel,
    ScriptedTools,
    Yes,
    calls,
    collect,
    config,
    contract,
    settle,
    text,
)

pytestmark = pytest.mark.anyio


def traced(rig, hook):
    return [line for line in rig.lines if line["event"] == "hook" and line["hook"] == hook]


def first_result(model):
    return model.seen[1].messages[-1].results[0]


async def ran(run):
    return "ran"


async def run_one_call(hooks, *, gate=None, tool=ran, contracts=None, approver=None):
    rig = Rig(config(*(contracts or (contract("work"),))))
    model = ScriptedModel(calls(("work", {"path": "a"})), text("done"))
    tools = ScriptedTools(work=tool)
    async with rig.open(model, tools, hooks=hooks, gate=gate, approver=approver) as session:
        await session.send("go")
        result = await session.wait()
        views = await collect(session)
    return attrs.make_class("Ran", ["rig", "model", "tools", "result", "views"])(rig, model, tools, result, views)


# The request


@pytest.mark.req("R-018", "R-080", "R-021")
async def test_wire_conversion_and_credentials_reach_the_model_and_are_traced():
    seen = {}

    async def reply(run):
        seen["headers"] = await run.credentials()
        seen["body"] = await run.converted({"model": "m"})
        return run.replied(text("ok"))

    async def refresh():
        return {"Authorization": "secret"}

    hooks = Hooks(convert_to_wire=lambda _, body: {**body, "store": False}, refresh_credentials=refresh)
    rig = Rig(config())
    async with rig.open(ScriptedModel(reply), hooks=hooks) as session:
        await session.send("go")
        await session.wait()
    assert seen == {"headers": {"Authorization": "secret"}, "body": {"model": "m", "store": False}}
    assert traced(rig, "convert-to-wire")[0]["changed"] == "store"
    assert traced(rig, "refresh-credentials")[0]["about"] == "1.1"
    assert "secret" not in str(rig.lines)


def reminder(words):
    return UserMessage(f"r-{words}", MessageSource.NOTICE, (TextPart(words),))


@pytest.mark.req("R-018", "R-020")
async def test_a_transform_may_add_a_reminder_behind_the_last_message_of_each_request():
    count = iter(range(10))

    def transform(messages):
        return [*messages, reminder(f"now {next(count)}")]

    seen = await run_one_call(Hooks(transform_context=transform))
    assert seen.result.text == "done"
    assert [view.messages[-1].parts[0].text for view in seen.model.seen] == ["now 0", "now 1"]
    assert [line["changed"] for line in traced(seen.rig, "transform-context")] == ["the messages"] * 2


@pytest.mark.req("R-020")
async def test_a_transform_that_breaks_the_cached_prefix_fails_the_request():
    count = iter(range(10))

    async def transform(messages):
        return [reminder(f"now {next(count)}"), *messages]

    seen = await run_one_call(Hooks(transform_context=transform))
    assert seen.result.reason is StopReason.MODEL_ERROR
    assert "the cached prefix is broken at message 0" in seen.result.message


@pytest.mark.req("R-020")
async def test_a_transform_that_breaks_the_ledger_fails_the_request():
    seen = await run_one_call(Hooks(transform_context=lambda messages: messages[:2]))
    assert seen.result.reason is StopReason.MODEL_ERROR
    assert "asks for the calls ['p0']" in seen.result.message


async def test_a_transform_that_raises_fails_the_request_and_says_so():
    def transform(messages):
        raise KeyError("nothing here")

    seen = await run_one_call(Hooks(transform_context=transform))
    assert seen.result.reason is StopReason.MODEL_ERROR
    assert "transform-context hook cannot be used: KeyError" in seen.result.message
    assert traced(seen.rig, "transform-context")[0]["changed"].startswith("failed: KeyError")


# The step


@pytest.mark.req("R-081", "D-31")
async def test_prepare_step_may_change_the_model_settings_from_this_step_on():
    async def prepare(state):
        return ModelSettings(model="other") if state.request_id == "1.2" else None

    rig = Rig(config(contract("work"), prepares_steps=True))
    model = ScriptedModel(calls(("work", {})), text("done"))
    async with rig.open(model, ScriptedTools(work=ran), hooks=Hooks(prepare_step=prepare)) as session:
        await session.send("go")
        await session.wait()
    assert [view.settings.model for view in model.seen] == ["", "other"]
    assert [line["changed"] for line in traced(rig, "prepare-step")] == ["nothing", "model settings"]


async def test_a_preparation_that_fails_ends_the_turn_with_its_cause():
    def prepare(state):
        raise RuntimeError("no instructions")

    rig = Rig(config(prepares_steps=True))
    async with rig.open(ScriptedModel(), hooks=Hooks(prepare_step=prepare)) as session:
        await session.send("go")
        result = await session.wait()
    assert not result.completed
    assert "no instructions" in result.message


@pytest.mark.req("R-019", "D-29")
async def test_stop_after_step_sees_the_results_and_ends_the_turn_before_another_request():
    shown = []

    def stop(state):
        shown.append(state.history[len(state.history) - 1].results[0].content)
        return True

    seen = await run_one_call(Hooks(stop_after_step=stop))
    assert seen.result.reason is StopReason.STOPPED_BY_HOST
    assert shown == ["ran"]
    assert len(seen.model.seen) == 1
    assert traced(seen.rig, "stop-after-step")[0]["changed"] == "ends the turn"
    aborts = [event for event in await seen.rig.journal() if type(event).__name__ == "AbortRequested"]
    assert [event.scope for event in aborts] == [AbortScope.AFTER_STEP]


async def test_a_stop_after_step_that_fails_stops_nothing():
    async def stop(state):
        raise RuntimeError("no idea")

    seen = await run_one_call(Hooks(stop_after_step=stop))
    assert seen.result.text == "done"
    assert traced(seen.rig, "stop-after-step")[0]["changed"] == "failed: RuntimeError: no idea"


async def test_an_abort_does_not_wait_for_a_hook_that_hangs():
    asked = anyio.Event()

    async def stop(state):
        asked.set()
        await anyio.sleep_forever()

    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("done"))
    async with rig.open(model, ScriptedTools(work=ran), hooks=Hooks(stop_after_step=stop)) as session:
        await session.send("go")
        await asked.wait()
        await session.abort()
        result = await session.wait()
    assert result.reason is StopReason.USER_ABORT


async def test_a_hook_that_stays_silent_is_not_waited_for_without_end():
    asked = anyio.Event()

    async def stop(state):
        asked.set()
        await anyio.sleep_forever()

    rig = Rig(config(contract("work"), limits=Limits(answer_ms=300)))
    model = ScriptedModel(calls(("work", {})), text("done"))
    async with rig.open(model, ScriptedTools(work=ran), hooks=Hooks(stop_after_step=stop)) as session:
        await session.send("go")
        await asked.wait()
        await settle()
        rig.clock.advance(300)
        assert (await session.wait()).text == "done"


# Queues from elsewhere


class Inbox:
    """A queue in memory that forgets only what it is told to."""

    def __init__(self, *batches):
        self.batches = list(batches)
        self.left = {}
        self.asked = 0
        self.forgotten = []

    async def waiting(self, session_id):
        self.asked += 1
        if self.batches:
            for message in self.batches.pop(0):
                self.left[message.message_id] = message
        return tuple(self.left.values())

    async def taken(self, session_id, message_ids):
        self.forgotten += message_ids
        for message_id in message_ids:
            del self.left[message_id]


def note(name):
    return InboxMessage(name, (TextPart(name),))


def words(view):
    return [part.text for message in view.messages if isinstance(message, UserMessage) for part in message.parts]


@pytest.mark.req("R-171", "R-172", "R-174", "R-050")
async def test_steering_from_elsewhere_is_asked_for_before_the_first_request_and_after_each_round_of_tools():
    inbox = Inbox([note("early")], [note("later")])
    seen = await run_one_call(Hooks(steering=inbox))
    assert words(seen.model.seen[0]) == ["go", "early"]
    assert words(seen.model.seen[1]) == ["go", "early", "later"]
    assert inbox.asked == 2
    assert inbox.forgotten == ["early", "later"]
    assert [line["changed"] for line in traced(seen.rig, "steering")] == ["1 messages", "1 messages"]


@pytest.mark.req("R-173", "R-174")
async def test_follow_ups_from_elsewhere_are_asked_for_only_when_the_agent_would_otherwise_end():
    inbox = Inbox([note("next")])
    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("one"), text("two"))
    async with rig.open(model, ScriptedTools(work=ran), hooks=Hooks(follow_ups=inbox)) as session:
        await session.send("go")
        result = await session.wait()
        ends = [shown.name for shown in await collect(session) if shown.name in ("turn_end", "agent_end")]
    assert (result.turn, result.text) == (2, "two")
    assert words(model.seen[2])[-1] == "next"
    assert inbox.asked == 2
    assert inbox.forgotten == ["next"]
    assert ends == ["turn_end", "turn_end", "agent_end"]


async def test_a_message_that_its_queue_does_not_forget_is_delivered_once():
    class Forgetful(Inbox):
        async def taken(self, session_id, message_ids):
            raise RuntimeError("no")

    inbox = Forgetful([note("early")])
    rig = Rig(config())
    model = ScriptedModel(text("one"), text("two"))
    async with rig.open(model, hooks=Hooks(steering=inbox)) as session:
        await session.send("go")
        await session.wait()
        await session.send("on")
        await session.wait()
    assert words(model.seen[1]) == ["go", "early", "on"]
    assert rig.reductions("ignored") == ["SteeringQueued"]


async def test_a_queue_forgets_a_message_only_when_it_is_durable_here():
    """(1) One tool ends, and its checkpoint begins. (2) The other ends, and steering is recorded behind it. (3) The
    checkpoint is written: it does not cover the message. (4) The next one does."""
    first_ended, syncing, go_on = anyio.Event(), anyio.Event(), anyio.Event()
    forgotten = []

    class Watching(Inbox):
        async def taken(self, session_id, message_ids):
            forgotten.append(rig.store._sessions["s"].durable)

    class Slow(MemoryJournal):
        async def sync(self):
            reached = self.last_seq
            if first_ended.is_set() and not go_on.is_set():
                syncing.set()
                await go_on.wait()
                self._session.durable = reached
                return reached
            return await super().sync()

    class Store(MemoryStore):
        async def create(self, session_id, header):
            journal = await super().create(session_id, header)
            journal.__class__ = Slow
            return journal

    async def first(run):
        first_ended.set()
        return "ran"

    async def second(run):
        await syncing.wait()
        return "ran"

    rig = Rig(config(contract("first", "pure"), contract("second", "pure")), store=Store())
    model = ScriptedModel(calls(("first", {}), ("second", {})), text("done"))
    hooks = Hooks(steering=Watching([], [note("later")]))
    async with rig.open(model, ScriptedTools(first=first, second=second), hooks=hooks) as session:
        await session.send("go")
        await syncing.wait()
        await settle()
        assert "SteeringQueued" in rig.reductions()
        go_on.set()
        await session.wait()
        await settle()
    recorded = next(seq for seq, event in enumerate(await rig.journal(), 1) if isinstance(event, SteeringQueued))
    assert len(forgotten) == 1
    assert forgotten[0] >= recorded


async def test_a_queue_that_cannot_be_asked_is_an_empty_one():
    class Broken:
        async def waiting(self, session_id):
            raise OSError("unreachable")

    seen = await run_one_call(Hooks(steering=Broken(), follow_ups=Broken()))
    assert seen.result.text == "done"


async def test_a_message_from_elsewhere_that_cannot_be_recorded_takes_nothing_else_with_it():
    inbox = Inbox([InboxMessage("odd", (TextPart("\ud800"),)), note("fine")], [])
    seen = await run_one_call(Hooks(steering=inbox, follow_ups=Inbox([InboxMessage("odder", (TextPart("\ud800"),))])))
    assert seen.result.text == "done"
    assert words(seen.model.seen[0]) == ["go", "fine"]
    assert [line["event"] for line in seen.rig.lines].count("event dropped") == 2


# Before the tool


@pytest.mark.req("R-121", "R-018")
async def test_before_tool_may_block_a_call_and_is_named_as_the_rule():
    seen = await run_one_call(Hooks(before_tool=lambda _: Block("not today")))
    outcome = first_result(seen.model).outcome
    assert isinstance(outcome, DeniedCall)
    assert (outcome.rule, outcome.reason) == ("before-tool", "not today")
    assert seen.tools.deeds == []
    assert traced(seen.rig, "before-tool")[0]["changed"] == "blocked: not today"


@pytest.mark.req("R-121")
async def test_before_tool_may_change_the_arguments_and_the_person_is_asked_about_the_changed_ones():
    approver = Yes()
    asked, executed = [], []

    async def remember(session_id, order, call):
        asked.append(call.arguments)
        return await Yes.ask(approver, session_id, order, call)

    approver.ask = remember

    async def tool(run):
        executed.append(run.arguments)
        return "ran"

    async def change(call):
        return Change({"path": "b"})

    seen = await run_one_call(Hooks(before_tool=change), gate=Allow("work"), tool=tool, approver=approver)
    assert seen.result.text == "done"
    assert asked == ['{"path":"b"}']
    assert executed == [{"path": "b"}]
    decisions = [event for event in await seen.rig.journal() if type(event).__name__ == "PolicyAsked"]
    assert decisions[0].rule == "before-tool, test"
    assert traced(seen.rig, "before-tool")[0]["changed"] == "changed the arguments path"


SCHEMA = '{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}'


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (lambda _: 1 / 0, "the host's before-tool hook failed: ZeroDivisionError: division by zero"),
        (lambda _: "yes", "the host's before-tool hook returned str, expected None, Block or Change"),
        (lambda _: Change({"path": 3}), "they do not fit"),
        (lambda _: Change({"path": {1, 2}}), "they do not fit"),
    ],
)
@pytest.mark.req("R-121")
async def test_a_before_tool_that_cannot_be_used_blocks_the_call(hook, reason):
    seen = await run_one_call(Hooks(before_tool=hook), contracts=[contract("work", parameters=SCHEMA)])
    outcome = first_result(seen.model).outcome
    assert isinstance(outcome, DeniedCall)
    assert reason in outcome.reason
    assert seen.tools.deeds == []


@pytest.mark.req("R-111", "R-120")
async def test_arguments_that_do_not_fit_are_refused_before_hook_and_rules_see_them():
    asked = []
    rig = Rig(config(contract("work", parameters=SCHEMA)))
    model = ScriptedModel(calls(("work", {"path": 3})), text("done"))
    tools = ScriptedTools(work=ran)
    async with rig.open(model, tools, hooks=Hooks(before_tool=asked.append)) as session:
        await session.send("go")
        await session.wait()
    outcome = first_result(model).outcome
    assert isinstance(outcome, InvalidCall)
    assert "path: found integer 3, expected string" in outcome.problem
    assert asked == []


# After the tool


@pytest.mark.req("R-121", "R-018")
async def test_after_tool_cleans_every_text_of_a_tool_before_it_is_stored_or_shown():
    async def tool(run):
        run.show("secret progress")
        return "a secret result"

    seen = await run_one_call(Hooks(after_tool=lambda said: said.text.replace("secret", "***")), tool=tool)
    assert first_result(seen.model).content == "a *** result"
    assert [shown.view.text for shown in seen.views if shown.name == "tool_progress"] == ["*** progress"]
    assert "secret" not in str(await seen.rig.journal())
    assert traced(seen.rig, "after-tool")[-1]["changed"] == "15 characters became 12"


@pytest.mark.parametrize("hook", [lambda _: 1 / 0, lambda _: None])
@pytest.mark.req("R-121")
async def test_an_after_tool_that_fails_withholds_the_result_and_never_turns_a_deed_into_a_failure(hook):
    seen = await run_one_call(Hooks(after_tool=hook))
    written = first_result(seen.model)
    assert isinstance(written.outcome, Succeeded)
    assert "withheld" in written.content
    assert "ran" not in written.content
    assert seen.tools.deeds == ["1.1.0"]


async def test_after_tool_cleans_what_an_inspection_found():
    async def lost(run):
        raise TimeoutError("a secret place")

    rig = Rig(config(contract("work", "fenceable")))
    tools = ScriptedTools(work=lost)

    async def found(order):
        from agentcore.events import EffectInspected

        return EffectInspected(
            at=0,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            finding=Finding.EXECUTED,
            result="a secret",
        )

    tools.findings.append(found)
    model = ScriptedModel(calls(("work", {})), text("done"))
    hooks = Hooks(after_tool=lambda said: said.text.replace("secret", "***"))
    async with rig.open(model, tools, hooks=hooks) as session:
        await session.send("go")
        assert (await session.wait()).text == "done"
    assert "a ***" in first_result(model).content


# The end


@pytest.mark.req("R-099", "D-22")
async def test_review_completion_may_send_the_model_back_to_work():
    answers = iter(["tests are missing", None])
    rig = Rig(config(reviews_completion=True))
    model = ScriptedModel(text("done?"), text("done."))
    async with rig.open(model, hooks=Hooks(review_completion=lambda _: next(answers))) as session:
        await session.send("go")
        result = await session.wait()
    assert result.text == "done."
    assert words(model.seen[1])[-1] == "tests are missing"
    assert [line["changed"] for line in traced(rig, "review-completion")] == ["refused the completion", "nothing"]


async def test_a_review_that_fails_lets_the_completion_stand_with_a_warning():
    async def review(state):
        raise RuntimeError("no reviewer")

    rig = Rig(config(reviews_completion=True))
    async with rig.open(ScriptedModel(text("done")), hooks=Hooks(review_completion=review)) as session:
        await session.send("go")
        result = await session.wait()
    assert result.completed
    assert result.warning == "review-failed: RuntimeError: no reviewer"
