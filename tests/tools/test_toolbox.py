"""Every way a tool can end, as the one event that comes of it."""

from __future__ import annotations

import asyncio
import threading

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from agentcore.events import (
    Finding,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import Artifact, EffectSeen
from interpreters.support.redaction import Redactor
from interpreters.tools import (
    OutcomeUnknown,
    Returned,
    Toolbox,
    ToolContext,
    ToolError,
    ToolStopped,
    executed,
    failed,
    not_executed,
    still_running,
    tool,
)
from interpreters.tools.errors import describe
from tests.tools.orders import CALL, SESSION, Bench, call_of, cancel_order, execute_order

pytestmark = pytest.mark.anyio


def raising(error, effect="opaque"):
    @tool(name="burn", effect=effect)
    def burn():
        """Raise."""
        raise error

    return burn


@pytest.mark.req("R-137")
async def test_an_attempt_runs_once_and_both_who_ordered_it_get_its_answer():
    runs = []

    @tool
    async def count(context: ToolContext) -> int:
        """Count."""
        runs.append(context.attempt_key)
        await checkpoint()
        return len(runs)

    bench = Bench(count)
    answers = []

    async def order():
        answers.append(await bench.execute())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(order)
        tasks.start_soon(order)
    answers.append(await bench.execute())
    assert runs == ["session-1/1.1.0/0.1"]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].result == "1"


@pytest.mark.req("R-137")
async def test_the_effect_key_is_the_same_for_every_attempt_and_the_attempt_key_is_not():
    seen = []

    @tool
    def look(context: ToolContext) -> None:
        """Look."""
        seen.append((context.effect_key, context.attempt_key))

    bench = Bench(look)
    await bench.execute(attempt=1)
    await bench.execute(attempt=2)
    assert seen == [("session-1/1.1.0", "session-1/1.1.0/0.1"), ("session-1/1.1.0", "session-1/1.1.0/0.2")]


async def test_a_success_carries_its_evidence():
    made = Artifact("a", "there", "0" * 64)

    @tool
    def work():
        """Work."""
        return Returned({"n": 1}, summary="one", resource_version="v2", artifacts=(made,), terminate=True)

    event = await Bench(work).execute()
    assert isinstance(event, ToolSucceeded)
    assert (event.call_id, event.epoch, event.attempt) == (CALL, 0, 1)
    assert (event.result, event.summary, event.resource_version) == ('{"n": 1}', "one", "v2")
    assert (event.artifacts, event.terminate) == ((made,), True)
    assert event.duration_ms is not None


async def test_a_sync_tool_runs_in_a_thread_and_an_async_one_in_the_loop():
    @tool
    def in_thread():
        """Say where."""
        return threading.get_ident()

    @tool
    async def in_loop():
        """Say where."""
        return threading.get_ident()

    here = str(threading.get_ident())
    assert (await Bench(in_thread).execute()).result != here
    assert (await Bench(in_loop).execute()).result == here


@pytest.mark.req("R-131", "R-242")
@pytest.mark.parametrize("effect", ["pure", "opaque"])
async def test_what_a_tool_raises_of_its_own_is_a_failure_with_type_and_message(effect):
    event = await Bench(raising(KeyError("name"), effect)).execute()
    assert isinstance(event, ToolFailed)
    assert (event.error, event.kind, event.fatal) == ("KeyError: 'name'", "KeyError", False)


@pytest.mark.req("D-2")
async def test_a_tool_says_itself_that_it_failed_and_whether_for_good():
    event = await Bench(raising(ToolError("no such account", fatal=True, kind="auth"))).execute()
    assert isinstance(event, ToolFailed)
    assert (event.error, event.kind, event.fatal) == ("no such account", "auth", True)


class Odd(BaseException):
    """No ``Exception``."""


def third_party(module, name):
    """An exception as a library would define it, seen only by its name."""
    return type(name, (Exception,), {"__module__": module})("broken")


LOSSES = {
    "a timeout": TimeoutError("too slow"),
    "a reset": ConnectionResetError("reset"),
    "a broken pipe": BrokenPipeError("pipe"),
    "an end of stream": EOFError("end"),
    "a broken resource": anyio.BrokenResourceError("broken"),
    "a cancellation of its own": asyncio.CancelledError("by itself"),
    "no exception": Odd("odd"),
    "an exit": SystemExit(3),
    "no memory": MemoryError("full"),
    "a group with a timeout": ExceptionGroup("two", [ValueError("x"), TimeoutError("y")]),
    "its own word": OutcomeUnknown("cannot tell"),
    "a timeout of httpx": third_party("httpx._exceptions", "TimeoutException"),
    "a transport of httpx": third_party("httpx._exceptions", "TransportError"),
    "a timeout of requests": third_party("requests.exceptions", "Timeout"),
}
losses = pytest.mark.parametrize("error", LOSSES.values(), ids=LOSSES)


@pytest.mark.req("R-153", "R-161", "R-069")
@losses
async def test_what_proves_no_end_is_a_loss_for_a_tool_that_can_act(error):
    event = await Bench(raising(error)).execute()
    assert isinstance(event, ToolLost)
    assert event.cause.startswith(describe(error) + " (")


@losses
async def test_for_a_pure_tool_there_is_nothing_to_lose(error):
    assert isinstance(await Bench(raising(error, "pure")).execute(), ToolFailed)


@pytest.mark.req("R-154")
async def test_a_loss_names_target_and_last_observation():
    @tool
    def order_goods(context: ToolContext):
        """Order."""
        context.observe("order 7 accepted")
        raise OutcomeUnknown("the line went dead", target="order 7")

    bench = Bench(order_goods)
    event = await bench.execute()
    assert (event.target, event.observation) == ("order 7", "order 7 accepted")
    assert "the line went dead" in event.cause


@pytest.mark.req("R-196")
@pytest.mark.parametrize("in_thread", [True, False])
async def test_progress_is_shown_and_only_a_changed_remote_state_is_an_event(in_thread):
    def speak(context):
        context.progress("a third")
        context.observe("queued")
        context.observe("queued")
        context.observe("running")

    @tool(name="speak")
    def sync_speak(context: ToolContext):
        """Speak."""
        speak(context)

    @tool(name="speak")
    async def async_speak(context: ToolContext):
        """Speak."""
        speak(context)

    bench = Bench(sync_speak if in_thread else async_speak)
    await bench.execute()
    assert bench.shown == ["a third"]
    kinds = [(type(event), getattr(event, "observation", "")) for event in bench.events]
    assert kinds == [(ToolStarted, ""), (ToolProgressed, "queued"), (ToolProgressed, "running")]


async def test_a_tool_that_announces_itself_says_what_can_be_asked_about_once():
    @tool(announces=True)
    def launch(context: ToolContext):
        """Launch."""
        context.started("job 12")
        context.started("job 13")

    bench = Bench(launch)
    await bench.execute()
    assert [event.handle for event in bench.events] == ["job 12"]


async def test_a_pure_tool_leaves_no_start_behind():
    @tool(effect="pure")
    def read():
        """Read."""

    bench = Bench(read)
    assert (await bench.execute()).result == "done"
    assert bench.events == []


async def test_words_from_a_thread_of_the_tools_own_never_break_it():
    @tool
    def spread(context: ToolContext):
        """Use a thread."""
        thread = threading.Thread(target=context.progress, args=("lost",))
        thread.start()
        thread.join()
        return "fine"

    assert (await Bench(spread).execute()).result == "fine"


@pytest.mark.req("D-7", "R-177")
async def test_a_cancelled_async_tool_has_ended_and_its_effect_is_unproved():
    @tool
    async def wait_long():
        """Wait."""
        await anyio.sleep_forever()

    event = await cancelled(Bench(wait_long))
    assert isinstance(event, ToolCancelled)
    assert event.effect is EffectSeen.UNPROVED


async def cancelled(bench, when=None):
    """Execute and cancel once the tool has begun, or ``when`` is set."""
    answer = []

    async def run():
        answer.append(await bench.execute())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        if when is None:
            await anyio.wait_all_tasks_blocked()
        else:
            await when.wait()
        bench.cancel()
    return answer[0]


@pytest.mark.parametrize("effect", list(EffectSeen))
async def test_a_tool_that_was_told_to_stop_says_what_is_known_of_its_effect(effect):
    @tool(stops_itself=True)
    async def obey(context: ToolContext):
        """Obey."""
        await context.cancelled()
        raise ToolStopped(effect)

    assert (await cancelled(Bench(obey))).effect is effect


async def test_an_effect_of_none_is_all_a_pure_tool_can_have_had():
    @tool(effect="pure")
    async def read_long():
        """Read."""
        await anyio.sleep_forever()

    assert (await cancelled(Bench(read_long))).effect is EffectSeen.NONE


@pytest.mark.req("R-223")
async def test_a_tool_that_finishes_although_it_was_told_to_stop_has_succeeded():
    @tool
    async def stubborn():
        """Finish."""
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await checkpoint()
            return "finished"  # noqa: B012 - the tool swallows its cancellation, which is the point

    event = await cancelled(Bench(stubborn))
    assert isinstance(event, ToolSucceeded)


async def test_a_thread_is_only_told_to_stop_and_its_own_end_is_the_answer():
    began = anyio.Event()

    @tool
    def in_thread(context: ToolContext):
        """Go on until told."""
        anyio.from_thread.run_sync(began.set)
        anyio.from_thread.run(context.cancelled)
        return f"told: {context.cancel_requested}"

    event = await cancelled(Bench(in_thread), began)
    assert isinstance(event, ToolSucceeded)
    assert event.result == "told: True"


async def test_an_error_on_the_way_to_a_stop_is_a_stop():
    @tool
    async def clumsy():
        """Break when cancelled."""
        try:
            await anyio.sleep_forever()
        finally:
            raise RuntimeError("while cleaning up")

    event = await cancelled(Bench(clumsy))
    assert isinstance(event, ToolCancelled)
    assert event.effect is EffectSeen.UNPROVED


@pytest.mark.req("R-176")
async def test_a_cancel_that_comes_before_the_start_keeps_the_tool_from_running():
    ran = []

    @tool
    def act():
        """Act."""
        ran.append(1)

    bench = Bench(act)
    bench.cancel()
    event = await bench.execute()
    assert isinstance(event, ToolCancelled)
    assert event.effect is EffectSeen.NONE
    assert ran == []


async def test_a_stop_nobody_asked_for_is_no_cancellation():
    assert isinstance(await Bench(raising(ToolStopped(EffectSeen.NONE))).execute(), ToolFailed)
    assert isinstance(await Bench(raising(ToolStopped(EffectSeen.UNPROVED))).execute(), ToolLost)


async def test_the_cancellation_of_the_caller_passes_and_leaves_no_answer():
    @tool
    async def wait_long():
        """Wait."""
        await anyio.sleep_forever()

    bench = Bench(wait_long)
    with anyio.move_on_after(0) as scope:
        await bench.execute()
    assert scope.cancelled_caught
    assert isinstance(await bench.execute(), ToolLost)


async def test_a_thread_that_hangs_does_not_keep_the_process():
    release = threading.Event()

    @tool
    def hang():
        """Hang."""
        release.wait(60)

    with anyio.move_on_after(0.05) as scope:
        await Bench(hang).execute()
    release.set()
    assert scope.cancelled_caught


async def test_tools_that_hang_do_not_keep_others_from_starting():
    release = threading.Event()

    @tool
    def hang():
        """Hang."""
        release.wait(60)

    bench = Bench(hang)
    held = anyio.to_thread.current_default_thread_limiter().total_tokens

    @tool
    def quick():
        """Be quick."""
        return "quick"

    async with anyio.create_task_group() as tasks:
        for attempt in range(int(held) + 1):
            tasks.start_soon(bench.execute, None, attempt)
        await anyio.wait_all_tasks_blocked()
        assert (await Bench(quick).execute()).result == "quick"
        release.set()


@pytest.mark.req("R-110", "R-112")
async def test_a_tool_that_is_gone_is_named_with_those_that_are_there():
    present = raising(ValueError("x"))
    call = call_of(present)
    box = Toolbox([])
    event = await box.execute(SESSION, execute_order(), call)
    assert isinstance(event, ToolFailed)
    assert event.error == "there is no tool 'burn' here; there are: none"


async def test_arguments_that_do_not_fit_run_nothing():
    @tool
    def add(number: int):
        """Add."""

    bench = Bench(add)
    event = await bench.execute({"number": "x"})
    assert isinstance(event, ToolFailed)
    assert event.kind == "arguments"
    assert bench.events == []


@pytest.mark.req("G-13")
async def test_a_long_result_is_cut_that_is_said_and_the_whole_is_kept():
    text = "".join(f"line {number}\n" for number in range(10_000))

    @tool
    def talk():
        """Talk."""
        return text

    bench = Bench(talk, output_max=1_000)
    event = await bench.execute()
    assert len(event.result) < 1_200
    assert event.result.startswith("line 0\n")
    assert event.result.endswith("line 9999\n")
    (artifact,) = event.artifacts
    assert f"characters left out; the whole is kept as {artifact.place} ..." in event.result
    assert bench.kept["1.1.0-0.1-result-1.txt"] == text.encode()


async def test_an_output_that_cannot_be_kept_leaves_the_success_a_success():
    @tool
    def talk():
        """Talk."""
        return "x" * 2_000

    bench = Bench(talk, output_max=1_000)

    async def full(session_id, name, data):
        raise OSError(28, "No space left on device")

    bench.box._keep = full
    event = await bench.execute()
    assert isinstance(event, ToolSucceeded)
    assert "not all of it could be kept" in event.result


async def test_where_nothing_is_kept_that_is_said():
    @tool
    def talk():
        """Talk."""
        return "x" * 2_000

    event = await Toolbox([talk], output_max=1_000).execute(SESSION, execute_order(), call_of(talk))
    assert "not all of it could be kept, only nothing" in event.result


async def test_words_outside_the_toolbox_are_dropped():
    context = ToolContext(SESSION, CALL)
    context.progress("x")
    context.observe("x")
    context.started("x")
    context.detach("x", "y")
    assert await context.keep("x", b"y") is None
    with anyio.move_on_after(0) as scope:
        await context.cancelled()
    assert scope.cancelled_caught


async def test_words_after_the_end_are_dropped():
    contexts = []

    @tool
    def remember(context: ToolContext):
        """Remember."""
        contexts.append(context)

    bench = Bench(remember)
    await bench.execute()
    contexts[0].observe("too late")
    assert [type(event) for event in bench.events] == [ToolStarted]


async def test_secrets_leave_no_trace_in_results_errors_and_words():
    redactor = Redactor(["hunter2hunter2"])

    @tool
    def leak(context: ToolContext, fail: bool):
        """Leak."""
        context.observe("state hunter2hunter2")
        context.progress("progress hunter2hunter2")
        if fail:
            raise ValueError("error hunter2hunter2")
        return {"key": "hunter2hunter2", "auth": "Bearer abcdefghijklmno1"}

    bench = Bench(leak, redactor=redactor)
    good, bad = await bench.execute({"fail": False}), await bench.execute({"fail": True}, attempt=2)
    told = repr((good, bad, bench.events, bench.shown))
    assert "hunter2" not in told
    assert "abcdefghijklmno1" not in told
    assert told.count("[redacted]") == 9


async def test_lone_surrogates_reach_no_event():
    @tool
    def break_text(context: ToolContext, fail: bool):
        """Break."""
        context.observe("state \ud800")
        if fail:
            raise ValueError("error \ud800")
        return "text \ud800"

    bench = Bench(break_text)
    good, bad = await bench.execute({"fail": False}), await bench.execute({"fail": True}, attempt=2)
    for text in (good.result, bad.error, bench.events[1].observation):
        text.encode()


@pytest.mark.req("R-169")
async def test_a_detached_tool_answers_at_once_and_settles_later():
    @tool(detached=True)
    async def build(context: ToolContext):
        """Build."""
        context.detach("job 3", "building")
        await checkpoint()
        return "built"

    bench = Bench(build)
    event = await bench.execute()
    assert [type(each) for each in bench.events] == [ToolStarted, TaskStarted]
    assert (bench.events[1].handle, bench.events[1].result) == ("job 3", "building")
    assert event == TaskSettled(at=0, call_id=CALL, epoch=0, attempt=1, succeeded=True, result="built")


async def test_a_detached_tool_that_fails_settles_without_success():
    @tool(detached=True)
    async def build(context: ToolContext):
        """Build."""
        context.detach("job 3", "building")
        raise ValueError("broken")

    event = await Bench(build).execute()
    assert isinstance(event, TaskSettled)
    assert (event.succeeded, event.result) == (False, "ValueError: broken")


async def test_a_tool_that_is_not_declared_detached_stays_in_the_foreground():
    @tool
    async def build(context: ToolContext):
        """Build."""
        context.detach("job 3", "building")
        return "built"

    bench = Bench(build)
    assert isinstance(await bench.execute(), ToolSucceeded)
    assert [type(each) for each in bench.events] == [ToolStarted]


def asked(answer, effect="inspectable"):
    def look(arguments, context):
        if isinstance(answer, BaseException):
            raise answer
        return answer(arguments, context) if callable(answer) else answer

    options = {"acts_within": 1} if effect == "inspectable" else {}

    @tool(name="send", effect=effect, inspect=look, **options)
    async def send(to: str = "x"):
        """Send."""
        await anyio.sleep_forever()

    return send


async def test_an_inspection_can_find_a_failure_and_tell_how_it_runs():
    failure = await Bench(asked(failed("no paper", evidence="asked the printer"))).inspect()
    running = await Bench(asked(still_running("page 3"))).inspect()
    assert (failure.finding, failure.result, failure.evidence) == (Finding.FAILED, "no paper", "asked the printer")
    assert (running.finding, running.result) == (Finding.STILL_RUNNING, "page 3")


async def test_the_cancellation_of_an_inspection_passes():
    async def look(arguments, context):
        await anyio.sleep_forever()

    with anyio.move_on_after(0) as scope:
        await Bench(asked(look)).inspect()
    assert scope.cancelled_caught


@pytest.mark.req("R-157", "R-163")
async def test_an_inspection_is_given_arguments_keys_and_handle():
    seen = []

    def look(arguments, context):
        seen.append((arguments, context.attempt_key, context.handle))
        return executed({"id": 4}, evidence="found it")

    event = await Bench(asked(look)).inspect({"to": "you"}, attempt=3, handle="job 9")
    assert seen == [({"to": "you"}, "session-1/1.1.0/0.3", "job 9")]
    assert (event.finding, event.result, event.evidence) == (Finding.EXECUTED, '{"id": 4}', "found it")
    assert event.question == "what became of attempt 0.3 of send"


async def test_an_async_inspection_is_awaited():
    async def look(arguments, context):
        await checkpoint()
        return not_executed("nothing there")

    event = await Bench(asked(look)).inspect()
    assert (event.finding, event.conclusive, event.evidence) == (Finding.NOT_EXECUTED, False, "nothing there")


@pytest.mark.req("R-157")
@pytest.mark.parametrize("answer", [RuntimeError("down"), Odd("odd"), "yes", None])
async def test_an_inspection_that_cannot_answer_leaves_the_effect_unknown(answer):
    assert (await Bench(asked(answer)).inspect()).finding is Finding.UNAVAILABLE


async def test_nobody_can_look_for_an_opaque_tool():
    assert (await Bench(raising(ValueError("x"))).inspect()).finding is Finding.UNAVAILABLE


@pytest.mark.parametrize(
    ("effect", "finding"), [("inspectable", Finding.STILL_RUNNING), ("fenceable", Finding.NOT_EXECUTED)]
)
async def test_an_attempt_that_is_alive_here_is_absent_only_if_it_was_voided(effect, finding):
    bench = Bench(asked(not_executed("nothing there", conclusive=True), effect))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.execute)
        await anyio.wait_all_tasks_blocked()
        assert (await bench.inspect()).finding is finding
        tasks.cancel_scope.cancel()


async def test_a_closed_session_is_forgotten():
    @tool
    def act():
        """Act."""

    bench = Bench(act)
    await bench.execute()
    bench.box.cancel(SESSION, cancel_order(7))
    bench.box.forget(SESSION)
    assert bench.box._attempts == {}
    assert bench.box._stopped_early == set()
