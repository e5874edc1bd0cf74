"""Kinds of fault that no list of faults named before, each with tests that are generated or enumerated.

An answer for a request of the previous turn; two prompts at the same instant; an abort in each phase and each call
state; a model that answers everything with the same call for ever; a clock that goes backwards or stands still.
"""

from __future__ import annotations

import itertools

import anyio
import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import PRESETS, Effect, Limits, Verdict, reduce
from agentcore.commands import CancelTool, EvaluatePolicy, ExecuteTool, PrepareStep, RequestModel, StartTimer, key_of
from agentcore.events import (
    AbortRequested,
    AbortScope,
    CompactionFailed,
    CompletionAccepted,
    CompletionRefused,
    Finding,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PolicyAllowed,
    PreparationFailed,
    PromptSubmitted,
    Resolution,
    StepPrepared,
    TimerFired,
    ToolFailed,
    ToolLost,
    ToolSucceeded,
)
from agentcore.messages import (
    EffectSeen,
    FinishReason,
    NotExecuted,
    NotExecutedReason,
    ReasoningPart,
    TextPart,
    Usage,
    UserMessage,
    digest,
)
from agentcore.projections import UiStatus, explain_end, ui_status
from agentcore.rejections import RejectionCode
from agentcore.states import (
    CALL_STATES,
    ENDS,
    PHASES,
    WORKING,
    AwaitingModel,
    Cancelled,
    Executing,
    Exhausted,
    Idle,
    Saving,
    Settled,
    StopReason,
)
from agentcore.steps import base, decide, model, queues
from agentcore.steps.verdicts import StopEntered
from interpreters import Agent, ManualClock
from interpreters.scripted import Ask, Say, ScriptedModel, ScriptedToolBox, Stall, scripted_tool
from tests.cases.helpers_a import Case, broken, fails, instead, patched, shape
from tests.core.driver import call, tool

# ---- an answer that arrives for a request of the previous turn


def in_turn_two() -> dict[str, Case]:
    """Sessions whose second turn stands in every phase that a late answer can meet."""
    return {name: _second(then) for name, then in SECOND.items()}


def _second(then) -> Case:
    case = Case(tool("read", Effect.PURE), tool("pay"), reviews_completion=True)
    case.execute("pay")
    case.succeed(result="first")
    case.reply("first answer")
    case.accept()
    case.all_saved()
    case.reopen()
    then(case)
    return case


def _prompt(case: Case) -> None:
    case.prompt("U2")


def _after(*verbs):
    def then(case: Case) -> None:
        _prompt(case)
        for verb in verbs:
            verb(case)

    return then


SECOND = {
    "idle": lambda _: None,
    "awaiting the model": _after(),
    "streaming": _after(Case.opened),
    "waiting for a retry": _after(Case.model_fails),
    "compacting": _after(lambda case: case.model_fails(ModelFailure.OVERFLOW)),
    "reviewing a call": _after(lambda case: case.reply(call("pay", "c1"))),
    "executing": _after(lambda case: case.execute("pay")),
    "unknown": _after(lambda case: case.execute("pay"), Case.lose),
    "reviewing the completion": _after(lambda case: case.reply("second answer")),
    "stopping": _after(Case.abort),
    "saving": _after(Case.abort, Case.model_stops),
    "cancelled": _after(Case.abort, Case.model_stops, Case.all_saved),
}

WORDS = (TextPart("from the past"),)


def late_answers(request_id: str, call_id: str, epoch: int, attempt: int, at: int):
    """Every kind of answer to something of the first turn."""
    request = {"at": at, "request_id": request_id, "epoch": epoch, "attempt": attempt}
    about = {"at": at, "call_id": call_id, "epoch": epoch, "attempt": attempt}
    return (
        ModelReplied(**request, parts=WORDS, usage=Usage(7, 7)),
        ModelReplied(**request, parts=(call("pay", "c9"),), usage=Usage(7, 7)),
        ModelFailed(**request, kind=ModelFailure.RETRYABLE, message="late", usage=Usage(7, 7)),
        ModelStopped(**request, parts=WORDS, usage=Usage(7, 7)),
        ModelStreamOpened(**request),
        StepPrepared(**request),
        PreparationFailed(**request, reason="late"),
        CompactionFailed(**request, reason="late", usage=Usage(7, 7)),
        CompletionAccepted(**request),
        CompletionRefused(**request, feedback="late"),
        PolicyAllowed(**about, arguments="{}", digest=digest("{}")),
        ToolSucceeded(**about, result="late"),
        ToolFailed(**about, error="late"),
        ToolLost(**about, cause="late"),
    )


def check_previous_turn(reducer=reduce) -> None:
    for case in in_turn_two().values():
        case.reduce = reducer
        for step, attempt in itertools.product((1, 2), (1, 2)):
            for event in late_answers(f"1.{step}", f"1.{step}.0", 0, attempt, case.now):
                judged = case.quietly(event)
                assert judged.reduction.state is case.state
                if judged.verdict is Verdict.REJECTED:
                    assert judged.rejection.code is not RejectionCode.CORE_DEFECT


@pytest.mark.req("G-3", "R-065", "R-245")
def test_an_answer_to_the_previous_turn_changes_nothing_in_any_phase():
    check_previous_turn()


def test_an_answer_that_is_taken_for_the_running_request_is_found_out():
    """The check as it was: whoever answers while somebody waits is the answer."""
    with patched((model, "misdirected", lambda *_: None)):
        fails(check_previous_turn)


KEYS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3))
"""Turn, step, place, epoch and attempt that an answer names."""


@given(KEYS, st.sampled_from(sorted(SECOND)), st.integers(0, 13))
@pytest.mark.req("G-3", "R-065")
def test_an_answer_counts_only_with_its_whole_key(key, name, which):
    turn, step, place, epoch, attempt = key
    case = _second(SECOND[name])
    request_id, call_id = f"{turn}.{step}", f"{turn}.{step}.{place}"
    event = late_answers(request_id, call_id, epoch, attempt, case.now + 1)[which]
    awaited = {(each.id, each.epoch, each.attempt) for each in map(key_of, case.work)}
    if case.given(event).verdict is Verdict.ACCEPTED:
        about = request_id if hasattr(event, "request_id") else call_id
        assert (about, epoch, attempt) in awaited


# ---- two prompts at the same instant


def check_two_prompts(first: str, second: str, *, queued: bool, reducer=reduce) -> None:
    """The second is refused or, sent again as what it is, queued; each counts once; no two requests stand together."""
    case = Case(reduce=reducer)
    at = 1_000
    texts = {"a": "A", "b": "B"}
    case.given(PromptSubmitted(at=at, message_id=first, parts=(TextPart(texts[first]),)))
    judged = case.given(PromptSubmitted(at=at, message_id=second, parts=(TextPart(texts[second]),)))
    if first == second:
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "message-known")
    else:
        assert judged.verdict is Verdict.REJECTED
        assert judged.rejection.code is RejectionCode.TURN_IN_PROGRESS
        if queued:
            case.follow_up(texts[second], second)
    assert len([each for each in case.work if isinstance(each, RequestModel)]) == 1
    assert shape(case.sent[-1]) == [texts[first]]
    case.answer("one")
    if queued and first != second:
        assert shape(case.sent[-1]) == [texts[first], ("one",), texts[second]]
        case.answer("two")
    said = [message.message_id for message in case.history if isinstance(message, UserMessage)]
    assert sorted(said) == sorted({first, second} if queued else {first})


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a"), ("a", "a")])
@pytest.mark.req("R-067", "R-239", "D-33")
def test_of_two_prompts_at_one_instant_the_second_is_refused_and_nothing_doubled(first, second, queued):
    check_two_prompts(first, second, queued=queued)


def begun_beside(state, event):
    """The row as it was: no guard against a second invocation."""
    return queues.submit_prompt(state, event)


def test_a_second_prompt_that_begins_beside_the_first_is_found_out():
    twin = broken(instead(AwaitingModel, PromptSubmitted, begun_beside, to=(AwaitingModel, Saving, *WORKING)))
    fails(check_two_prompts, "a", "b", queued=False, reducer=twin)


async def check_two_senders(senders: int, same_id: bool) -> None:
    """Several tasks send at once: one prompt, the rest filed behind it, each delivered once, in some order."""
    model_ = ScriptedModel(lambda _, order: Say(f"answer {order.request_id}"))
    sent: list = []
    async with Agent(model=model_).open() as session:

        async def send(number: int) -> None:
            name = "same" if same_id else f"m{number}"
            sent.append(await session.send(f"M{number}", message_id=name))

        async with anyio.create_task_group() as tasks:
            for number in range(senders):
                tasks.start_soon(send, number)
        await session.wait()
        state = session.state
    filed = sorted(each.filed for each in sent if each.receipt.accepted)
    said = [message.message_id for message in state.history if isinstance(message, UserMessage)]
    if same_id:
        assert (filed, said, len(model_.requests)) == (["prompt"], ["same"], 1)
    else:
        assert filed == ["follow-up"] * (senders - 1) + ["prompt"]
        assert sorted(said) == sorted(f"m{number}" for number in range(senders))
        assert len(model_.requests) == senders
    # One request at a time: each saw everything that was answered before it.
    assert [len(view.messages) for _, view in model_.requests] == [1 + 2 * n for n in range(len(model_.requests))]


@pytest.mark.anyio
@pytest.mark.parametrize("same_id", [False, True])
@pytest.mark.parametrize("senders", [2, 5])
@pytest.mark.req("R-239", "D-33", "D-26")
async def test_tasks_that_send_at_once_take_turns(senders, same_id):
    await check_two_senders(senders, same_id)


# ---- an abort in each phase and each call state


def _session(**config) -> Case:
    return Case(
        tool("read", Effect.PURE), tool("pay", Effect.OPAQUE), tool("job", Effect.OPAQUE, detached=True), **config
    )


def _phases() -> dict[type, Case]:
    """One session in each phase, made by the shortest way there."""
    made: dict[type, Case] = {}

    def at(*verbs, **config) -> None:
        case = _session(**config)
        for verb in verbs:
            verb(case)
        made.setdefault(case.phase, case)

    prompt, reply = (lambda case: case.prompt()), (lambda case: case.reply("done"))
    at()
    at(prompt, prepares_steps=True)
    at(prompt)
    at(prompt, Case.opened)
    at(prompt, Case.model_fails)
    at(prompt, lambda case: case.model_fails(ModelFailure.OVERFLOW))
    at(lambda case: case.propose("pay"))
    at(prompt, reply, reviews_completion=True)
    at(lambda case: case.execute("pay"), Case.abort)
    at(prompt, reply)
    at(prompt, reply, Case.all_saved)
    at(lambda case: case.propose("pay"), Case.ask, Case.deny, Case.all_saved)
    at(prompt, Case.abort, Case.model_stops, Case.all_saved)
    at(prompt, Case.all_saved, limits=Limits(steps=0))
    at(prompt, lambda case: case.model_fails(ModelFailure.FATAL), Case.all_saved)
    return made


def _call_states() -> dict[str, Case]:
    """One session for each state that a call can be in, in a batch and in the register."""
    ways = {
        "Proposed": (),
        "AwaitingApproval": (Case.ask,),
        "Ready": (Case.allow,),
        "Released": (Case.allow, Case.allow),
        "Executing": (Case.allow, Case.allow, Case.all_saved),
        "CancellationRequested": (Case.allow, Case.allow, Case.all_saved, _abort_call),
        "EffectUnknown": (Case.allow, Case.allow, Case.all_saved, lambda case: case.lose("1.1.0")),
        "Settled": (lambda case: case.block(),),
    }
    made = {}
    for name, verbs in ways.items():
        case = _session(policy=attrs.evolve(PRESETS["recommended"].policy, denied_static="return_error"))
        case.propose("pay", "pay")
        for verb in verbs:
            verb(case)
        assert case.calls["1.1.0"] == name
        made[name] = case
    for name, verbs in {
        "registered Executing": (),
        "registered CancellationRequested": (lambda case: case.abort(AbortScope.TASK, "1.1.0"),),
        "registered EffectUnknown": (lambda case: case.lose("1.1.0"),),
        "registered Settled": (lambda case: case.resolve(Resolution.ABANDONED),),
    }.items():
        case = _session()
        case.execute("job")
        case.detach()
        if name == "registered Settled":
            case.lose("1.1.0")
        for verb in verbs:
            verb(case)
        assert f"registered {case.register['1.1.0']}" == name
        made[name] = case
    return made


def _abort_call(case: Case) -> None:
    case.abort(AbortScope.CALL, "1.1.0")


def settle_down(case: Case) -> None:
    """Answer whatever is left as a world does that confirms every stop and finds what it is asked."""
    for _ in range(60):
        waits = [name for name in case.waits if not name.startswith("start-timer")]
        if not case.state.open or not waits:
            return
        kind, _, about = waits[0].partition(" ")
        match kind:
            case "persist-checkpoint":
                case.saved()
            case "request-model":
                case.model_stops()
            case "execute-tool" if f"cancel-tool {about}" in waits:
                _confirm(case, about)
            case "execute-tool":
                case.succeed(about)
            case "cancel-tool":
                _confirm(case, about)
            case "inspect-effect":
                case.inspected(Finding.EXECUTED, about, result="found")
            case _:
                raise AssertionError(f"{waits[0]} after an abort")
    raise AssertionError(f"it never ends: {case.waits}")


def _confirm(case: Case, call_id: str) -> None:
    case.stopped(EffectSeen.NONE, call_id)


def check_abort(case: Case, scope: AbortScope, reducer=reduce) -> None:
    """No new work after it; each call truthfully answered; the turn cancelled; a repetition is none."""
    case.reduce = reducer
    ended, working = isinstance(case.state.phase, (Idle, *ENDS)), isinstance(case.state.phase, WORKING)
    before, phase = {kind: case.count(kind) for kind in NEW_WORK}, case.state.phase
    started = {each.call_id for each in case.executed}
    act = {"act_id": "stop", "scope": scope, "turn": case.state.turn.number if scope is AbortScope.TURN else 0}
    judged = case.given(AbortRequested(at=case.now + 1, **act))
    assert judged.verdict is not Verdict.REJECTED
    if ended:
        assert type(case.state.phase) is type(phase)
        return
    assert case.quietly(AbortRequested(at=case.now + 1, **act)).reason in ("act-known", "turn-ended")
    assert ui_status(case.state).ui is not UiStatus.IDLE
    if case.state.open:
        assert ui_status(case.state).ui not in (UiStatus.CANCELLED, UiStatus.DONE)
    settle_down(case)
    assert {kind: case.count(kind) for kind in NEW_WORK} == before
    assert isinstance(case.state.phase, ENDS)
    if working:
        assert (case.phase, case.stop) == (Cancelled, StopReason.USER_ABORT)
    for result in case.results:
        # What never started says so, and only that.
        assert isinstance(result.outcome, NotExecuted) <= (result.call_id not in started)
    assert explain_end(case.state).text
    # The session is usable: what is sent next is whole.
    case.reopen()
    case.prompt("and now?")
    if any(isinstance(each, PrepareStep) for each in case.work):
        case.prepared()
    case.answer()


NEW_WORK = (RequestModel, ExecuteTool, EvaluatePolicy)
SCOPES = (AbortScope.TURN, AbortScope.ALL)


@pytest.mark.req("R-175", "R-176", "R-177", "R-207", "D-7", "D-10")
def test_every_phase_and_every_call_state_is_reached_here():
    assert set(_phases()) == set(PHASES)
    named = {name.removeprefix("registered ") for name in _call_states()}
    assert named == {kind.__name__ for kind in CALL_STATES}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.req("R-175", "R-176", "R-177", "R-207", "D-7", "D-10")
def test_an_abort_in_each_phase_starts_nothing_and_ends_truthfully(phase, scope):
    check_abort(_phases()[phase], scope)


STATES = (
    *(kind.__name__ for kind in CALL_STATES),
    *(f"registered {name}" for name in ("Executing", "CancellationRequested", "EffectUnknown", "Settled")),
)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", STATES)
@pytest.mark.req("R-175", "R-176", "R-206", "R-207", "D-7")
def test_an_abort_in_each_call_state_starts_nothing_and_ends_truthfully(name, scope):
    check_abort(_call_states()[name], scope)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.req("R-167", "D-7")
def test_a_turns_abort_leaves_tasks_alone_and_an_abort_of_all_reaches_them(name):
    for scope in SCOPES:
        case = _call_states()[name]
        if not name.startswith("registered") or name.endswith("Settled"):
            continue
        orders = case.count(CancelTool)
        case.abort(scope)
        asked = case.count(CancelTool) - orders
        fresh = scope is AbortScope.ALL and "Cancellation" not in name
        assert asked == (1 if fresh else 0), (name, scope)


def slept_through(state, event):
    """The row as it was: the phase does not look at the abort."""
    return state


@pytest.mark.parametrize("phase", WORKING)
def test_a_phase_that_sleeps_through_an_abort_is_found_out(phase):
    fails(
        check_abort,
        _phases()[phase],
        AbortScope.TURN,
        broken(instead(phase, AbortRequested, slept_through, to=(phase,))),
    )


def test_an_abort_that_settles_what_has_started_as_not_executed_is_found_out():
    def hoped(state, known, event):
        outcome = NotExecuted(NotExecutedReason.USER_ABORT)
        return attrs.evolve(known, state=Settled(known.state.transition, outcome, known.state.run))

    twin = broken(instead(Executing, StopEntered, hoped, to=(Settled,)))
    fails(check_abort, _call_states()["Executing"], AbortScope.TURN, twin)


# ---- a model that answers everything with the same call, for ever


def check_for_ever(preset: str, effect: Effect, *, fresh_ids: bool, result: str = "same", reducer=reduce) -> Case:
    """It ends, by a bound that is named; nothing ran more often than the bound allows; every call is answered."""
    limits, policy = PRESETS[preset].limits, PRESETS[preset].policy
    case = Case(tool("poll", effect), limits=limits, policy=policy, reduce=reducer)
    case.prompt()
    count = itertools.count()
    for _ in range(3_000):
        if not case.state.open:
            break
        assert len(case.executed) <= BOUND, "it goes on and on"
        number = next(count)
        for_ever = {
            "request-model": lambda n=number: case.reply(call("poll", f"c{n}" if fresh_ids else "c", x=1)),
            "evaluate-policy": case.allow,
            "persist-checkpoint": case.saved,
            "execute-tool": lambda: case.succeed(result=result),
        }
        kind = next(name.partition(" ")[0] for name in case.waits if not name.startswith("start-timer"))
        for_ever[kind]()
    assert isinstance(case.state.phase, Exhausted)
    return case


BOUND = 10


@pytest.mark.parametrize("fresh_ids", [False, True])
@pytest.mark.parametrize("effect", [Effect.PURE, Effect.OPAQUE, Effect.KEYED])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.req("G-7", "R-068", "R-214")
def test_the_same_call_for_ever_ends_at_a_named_bound(preset, effect, fresh_ids):
    case = check_for_ever(preset, effect, fresh_ids=fresh_ids)
    assert (case.stop, case.ending.loop) == (StopReason.LOOP_LIMIT, "identical_calls")
    # The first round and the repeats that the bound allows, and the one that goes beyond it.
    assert len(case.executed) == case.state.config.limits.identical_calls + 2
    assert len(case.results) == len(case.executed)


def test_the_same_call_with_another_result_each_time_is_bounded_by_the_steps():
    case = Case(tool("poll", Effect.PURE), limits=Limits(steps=6))
    case.prompt()
    number = itertools.count()

    def again() -> None:
        case.reply(call("poll", "c", x=1))
        case.allow()
        case.succeed(result=f"tick {next(number)}")

    case.play(again)
    assert (case.stop, case.count(RequestModel)) == (StopReason.MAX_STEPS, 6)


STUCK = ("bad json", "no such tool", "think", "empty", "cut", "cut call", "lie")


def check_pattern(pattern: list[str], preset: str, **limits) -> None:
    """The pattern is answered over and over; the turn ends, and no counter stands above the one that went beyond."""
    chosen = attrs.evolve(PRESETS[preset].limits, **limits)
    case = Case(tool("poll", Effect.PURE), limits=chosen, policy=PRESETS[preset].policy)
    case.prompt()
    endless = itertools.cycle(pattern)
    case.play(lambda: _say(case, next(endless)))
    counters = case.state.turn.counters
    for field in attrs.fields(type(counters)):
        bound = getattr(chosen, field.name)
        assert bound is None or getattr(counters, field.name) <= bound + 1, field.name


@given(st.lists(st.sampled_from(STUCK), min_size=1, max_size=4))
@pytest.mark.req("G-7", "R-068", "R-214")
def test_a_model_that_gets_nowhere_ends_without_any_bound_on_steps(pattern):
    check_pattern(pattern, "open")


@given(st.lists(st.sampled_from((*STUCK, "call")), min_size=1, max_size=4), st.sampled_from(sorted(PRESETS)))
@pytest.mark.req("G-7", "R-068", "R-214")
def test_whatever_a_model_repeats_for_ever_the_turn_ends_where_steps_are_bounded(pattern, preset):
    check_pattern(pattern, preset, steps=12)


def _say(case: Case, what: str) -> None:
    assert case.count(RequestModel) <= 40, "it goes on and on"
    said = {
        "call": (call("poll", "c", x=1),),
        "bad json": (call("poll", "c", raw="{]"),),
        "no such tool": (call("nothing", "c"),),
        "think": (ReasoningPart("hm"),),
        "empty": (),
        "cut": ("half an ans",),
        "cut call": (call("poll", "c", raw='{"x":'),),
        "lie": ("well",),
    }[what]
    finish = {"cut": FinishReason.LENGTH, "lie": FinishReason.UNKNOWN}.get(what, FinishReason.STOP)
    case.reply(*said, finish=finish)
    if any(isinstance(each, EvaluatePolicy) for each in case.work):
        case.allow()
        case.succeed(result="same")


def test_a_loop_that_does_not_know_a_round_again_is_found_out():
    true_round = decide._count_round

    def never_the_same(state, calls, outcomes):
        counted = true_round(state, calls, outcomes)
        return base.recounted(counted, identical_calls=0)

    with patched((decide, "_count_round", never_the_same)):
        fails(check_for_ever, "open", Effect.PURE, fresh_ids=True)


async def check_engine_for_ever() -> None:
    box = ScriptedToolBox([scripted_tool("poll")])
    agent = Agent(model=ScriptedModel(lambda *_: Say(calls=(Ask("poll", {"x": 1}),))), tools=box, policy="open")
    with anyio.fail_after(20):
        result = await agent.run("go")
    assert result.reason is StopReason.LOOP_LIMIT
    assert box.count("poll") == 5
    assert "same" in result.explanation or "repeat" in result.explanation.lower()


@pytest.mark.anyio
@pytest.mark.req("G-7", "R-097")
async def test_an_agent_whose_model_repeats_itself_ends_and_says_why():
    await check_engine_for_ever()


# ---- a clock that goes backwards, or stands still


LIMITED = Limits(turn_ms=60_000, model_ms=20_000, tool_ms=30_000, approval_ms=40_000)


def script(case: Case, moves: list[int]) -> list[str]:
    """One turn with a retry, a question and an execution; before each act the clock is set to another time."""
    times = iter(moves)

    def tick() -> None:
        case.now = next(times) - 1

    told: list[str] = []
    acts = [
        case.prompt,
        lambda: case.model_fails(ModelFailure.RETRYABLE, "busy"),
        lambda: case.given(_retry(case)),
        lambda: case.reply(call("pay", "c1")),
        case.ask,
        case.grant,
        case.all_saved,
        case.started,
        lambda: case.progressed("half"),
        case.succeed,
        lambda: case.reply("done"),
        case.all_saved,
    ]
    for act in acts:
        tick()
        act()
        told.append(case.phase.__name__)
    return told


def _retry(case: Case) -> TimerFired:
    """The pause's timer comes when it comes: what time it is then does not decide whether it counts."""
    timer = case.the(StartTimer, "retry/1.1")
    return TimerFired(at=case.now + 1, timer_id=timer.timer_id, epoch=timer.epoch, attempt=timer.attempt)


ACTS = 12
STRAIGHT = [1_000_000 + 10 * n for n in range(ACTS)]


def check_clock(moves: list[int], reducer=reduce) -> None:
    """The same turn, whatever the clock shows: nothing falls, nothing expires, no due time lies in the past."""
    expected = script(Case(tool("pay"), limits=LIMITED), STRAIGHT)
    case = Case(tool("pay"), limits=LIMITED, reduce=reducer)
    seen: list[int] = []
    begun = case.given

    def watched(event):
        judged = begun(event)
        seen.append(case.state.at)
        for timer in case.work:
            if isinstance(timer, StartTimer):
                assert timer.due_at > 0
        return judged

    case.given = watched
    assert script(case, moves) == expected
    assert seen == sorted(seen), "the session's time fell"
    assert case.stop is StopReason.FINAL_ANSWER


@given(st.lists(st.integers(-20_000, 0), min_size=ACTS, max_size=ACTS))
@pytest.mark.req("D-26", "R-160")
def test_a_clock_that_goes_backwards_changes_no_turn(steps):
    start, moves = 1_000_000, []
    for step in steps:
        start = max(1, start + step)
        moves.append(start)
    check_clock(moves)


@pytest.mark.parametrize("stands_at", [1, 1_000_000, 2**45])
@pytest.mark.req("D-26")
def test_a_clock_that_stands_still_changes_no_turn(stands_at):
    check_clock([stands_at] * ACTS)


@given(st.lists(st.integers(-5_000, 5_000), min_size=ACTS, max_size=ACTS))
@pytest.mark.req("D-26")
def test_a_clock_that_jumps_within_the_limits_changes_no_turn(steps):
    check_clock([1_000_000 + step for step in steps])


def test_time_that_falls_with_the_clock_is_found_out():
    class Falling:
        """The reducer as it was: the state's time is whatever the last event says."""

        @staticmethod
        def __call__(state, event):
            return Falling.examine(state, event).reduction

        @staticmethod
        def examine(state, event):
            judged = reduce.examine(state, event)
            after, commands = judged.reduction
            fallen = attrs.evolve(after, at=event.at) if judged.verdict is Verdict.ACCEPTED else after
            return attrs.evolve(judged, reduction=type(judged.reduction)(fallen, commands))

    with pytest.raises(AssertionError):
        check_clock([1_000_000 - 100 * n for n in range(ACTS)], Falling())


@pytest.mark.req("D-26", "R-056")
def test_a_dead_time_that_the_clock_shows_as_negative_shifts_nothing():
    case = Case(tool("pay"), limits=LIMITED)
    case.prompt()
    case.model_fails(ModelFailure.RETRYABLE, "busy")
    due_at = case.the(StartTimer, "retry/1.1").due_at
    case.now = 0
    case.restart()
    assert case.the(StartTimer, "retry/1.1").due_at == due_at
    assert case.state.turn.due_at is not None


async def check_engine_clock(*, by_ms: int) -> None:
    """An engine whose wall clock is set back by hours while a request is out: the abort and the end need no time."""
    clock = ManualClock()
    model_ = ScriptedModel([Stall(), Say("done")])
    async with Agent(model=model_, clock=clock, limits=LIMITED).open() as session:
        await session.send("go")
        await anyio.wait_all_tasks_blocked()
        clock.advance(by_ms)
        with anyio.fail_after(10):
            await session.abort()
            assert (await session.wait()).reason is StopReason.USER_ABORT
            await session.send("again")
            assert (await session.wait()).text == "done"
        assert session.state.at >= session.state.turn.started_at


@pytest.mark.anyio
@pytest.mark.parametrize("by_ms", [0, -1, -7_200_000])
@pytest.mark.req("D-26", "D-7")
async def test_an_engine_goes_on_when_its_clock_is_set_back_or_stands(by_ms):
    await check_engine_clock(by_ms=by_ms)
