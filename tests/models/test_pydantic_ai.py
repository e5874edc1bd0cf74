"""Models of pydantic-ai as models of ours: with its own test models, and its OpenAI model against bytes on loopback."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import anyio
import pytest

pydantic_ai = pytest.importorskip("pydantic_ai", reason="needs pip install 'agentcore-reducer[pydantic-ai]'")

from pydantic_ai import messages as theirs
from pydantic_ai.exceptions import ContentFilterError, ModelConnectionError, UnexpectedModelBehavior, UserError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from agentcore import Limits
from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped
from agentcore.messages import (
    AssistantMessage,
    DeniedCall,
    FailedCall,
    FinishReason,
    MediaPart,
    MessageSource,
    NotExecuted,
    NotExecutedReason,
    OpaquePart,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from agentcore.policy import ModelSettings, ToolContract
from interpreters import Agent, FileStore, ModelNotNamed, allow, model_named, tool
from interpreters.models.patience import Timeouts
from interpreters.models.prices import Prices
from interpreters.models.pydantic_ai import PydanticAIModel, usage_of
from interpreters.models.pydantic_ai_failures import failure_of
from interpreters.models.pydantic_ai_messages import metadata_for, reply_of, requests_of, tools_of
from interpreters.support.ports_model import HookRan, ReasoningDelta, TextDelta
from tests.models.byteserver import HANG, RESET, Answer, chunk, events, serving
from tests.models.runs import in_time, user, view_of, watched

ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""The SDK that its OpenAI model uses leaves generators to the garbage collector, of which trio warns."""

KEY = "sk-marker-key-9f8e7d6c5b4a"


def openai_model(url: str, **more):
    """The OpenAI model of pydantic-ai, asked at an address."""
    pytest.importorskip("openai", reason="needs pip install 'pydantic-ai-slim[openai]'")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return PydanticAIModel(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=url, api_key=KEY)), **more)


# History


def result(outcome, name: str = "now", provider_id: str = "c1", content: str = "noon") -> ToolResult:
    return ToolResult("1.1.0", provider_id, name, content, outcome)


def said(*parts, metadata: str = "", request_id: str = "1.1") -> AssistantMessage:
    return AssistantMessage(request_id, 0, 1, parts, metadata=metadata)


def kinds(messages) -> list[list[str]]:
    return [[part.part_kind for part in message.parts] for message in messages]


def test_messages_of_one_side_are_one_request_and_the_last_has_the_instructions():
    history = (
        user("hello"),
        said(TextPart("I look."), ToolCallPart("c1", "now", '{"zone": "utc"}')),
        ToolMessage("1.1", (result(Succeeded("noon")),)),
        UserMessage("m2", MessageSource.STEERING, (TextPart("quick"),)),
    )
    found = requests_of(view_of(*history, instructions="Be kind.", summary="long ago"), "m")
    assert kinds(found) == [["user-prompt", "user-prompt"], ["text", "tool-call"], ["tool-return", "user-prompt"]]
    assert [message.instructions for message in found if message.kind == "request"] == [None, "Be kind."]
    assert "long ago" in found[0].parts[0].content
    call, answer = found[1].parts[1], found[2].parts[0]
    assert (call.tool_name, call.args, call.tool_call_id) == ("now", '{"zone": "utc"}', "c1")
    assert (answer.tool_call_id, answer.content, answer.outcome) == ("c1", "noon", "success")


def test_outcomes_are_told_by_the_nearest_word():
    outcomes = {
        "failed": FailedCall("no"),
        "denied": DeniedCall("rule", "no"),
        "interrupted": NotExecuted(next(iter(NotExecutedReason))),
    }
    for word, outcome in outcomes.items():
        history = (user("x"), said(ToolCallPart("c1", "now", "{}")), ToolMessage("1.1", (result(outcome),)))
        assert requests_of(view_of(*history), "m")[-1].parts[0].outcome == word


def test_what_no_provider_would_take_is_made_fit():
    calls = (ToolCallPart("", "no.dots", "{not json"), ToolCallPart("", "b", ""))
    results = (result(FailedCall("x"), "no.dots", ""), result(FailedCall("x"), "b", ""))
    found = requests_of(view_of(user("x"), said(*calls), ToolMessage("1.1", results)), "m")
    sent, answers = found[1].parts, found[2].parts
    assert [call.tool_name for call in sent] == ["no_dots", "b"]
    assert [call.args for call in sent] == ['{"not_a_json_object":"{not json"}', "{}"]
    assert [call.tool_call_id for call in sent] == [each.tool_call_id for each in answers]
    assert len({call.tool_call_id for call in sent}) == 2


@pytest.mark.req("G-14")
def test_media_go_as_bytes_or_as_an_address():
    media = (
        MediaPart("image/png", base64.b64encode(b"png").decode()),
        MediaPart("image/png", "https://x.example/a.png"),
        MediaPart("audio/wav", "https://x.example/a.wav"),
        MediaPart("application/pdf", "https://x.example/a.pdf"),
    )
    content = requests_of(view_of(user("see", *media)), "m")[0].parts[0].content
    assert content[0] == "see"
    assert (content[1].data, content[1].media_type) == (b"png", "image/png")
    assert [each.kind for each in content[2:]] == ["image-url", "audio-url", "document-url"]
    with pytest.raises(ValueError, match="image/png 'x' is not base64"):
        requests_of(view_of(user(MediaPart("image/png", "%%", "x"))), "m")


ANSWER = theirs.ModelResponse(
    parts=[
        theirs.ThinkingPart("hm", id="r1", signature="sig==", provider_name="p", provider_details={"enc": [1, "2"]}),
        theirs.TextPart("hello", id="t1", provider_name="p"),
        theirs.NativeToolCallPart("web_search", {"q": "x"}, "n1", provider_name="p"),
        theirs.NativeToolReturnPart("web_search", {"hits": 1}, "n1", provider_name="p"),
        theirs.ToolCallPart("now", {"zone": "utc"}, "c1", provider_name="p", provider_details={"thought": "x"}),
    ],
    model_name="m-1",
    provider_name="p",
    provider_response_id="resp-1",
    provider_details={"finish_reason": "tool_calls"},
    finish_reason="tool_call",
)


@pytest.mark.req("G-14", "R-087")
def test_what_a_provider_wants_back_goes_back_to_the_same_model_and_to_no_other():
    reply = reply_of(ANSWER, FinishReason.TOOL_CALLS)
    kinds_of = [ReasoningPart, TextPart, OpaquePart, OpaquePart, ToolCallPart]
    assert [type(part) for part in reply.parts] == kinds_of
    assert reply.parts[-1].arguments == '{"zone": "utc"}'
    message = said(*reply.parts, metadata=metadata_for("m", reply))
    again = requests_of(view_of(user("x"), message), "m")[1]
    for before, after in zip(ANSWER.parts[:4], again.parts[:4], strict=True):
        assert type(before) is type(after)
        left, right = (
            theirs.ModelMessagesTypeAdapter.dump_python([theirs.ModelResponse([one])], mode="json")[0]
            for one in (before, after)
        )
        assert left["parts"][0] | {"timestamp": 0} == right["parts"][0] | {"timestamp": 0}
    assert (again.parts[4].provider_details, again.parts[4].tool_call_id) == ({"thought": "x"}, "c1")
    assert (again.provider_name, again.provider_response_id) == ("p", "resp-1")
    elsewhere = requests_of(view_of(user("x"), message), "another")[1]
    assert [part.part_kind for part in elsewhere.parts] == ["text", "tool-call"]
    assert (elsewhere.parts[0].id, elsewhere.parts[1].provider_details, elsewhere.provider_name) == (None, None, None)


def test_an_answer_of_which_nothing_is_left_is_left_out():
    assert kinds(requests_of(view_of(user("x"), said(ReasoningPart("hm"))), "m")) == [["user-prompt"]]


def test_tools_are_declared_with_their_schema():
    contract = ToolContract(
        "now", description="Tell the time.", parameters='{"type": "object", "properties": {"zone": {"type": "string"}}}'
    )
    found = tools_of([contract])[0]
    assert (found.name, found.description) == ("now", "Tell the time.")
    assert found.parameters_json_schema["properties"]["zone"] == {"type": "string"}


# Usage


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (RequestUsage(), Usage()),
        (RequestUsage(unmeasured_requests=1, input_tokens=3), Usage()),
        (RequestUsage(input_tokens=10, output_tokens=0), Usage(10, 0)),
        (
            RequestUsage(input_tokens=10, output_tokens=5, cache_read_tokens=4, cache_write_tokens=3),
            Usage(10, 5, 4, 3),
        ),
        (RequestUsage(input_tokens=10, output_tokens=5, output_reasoning_tokens=2), Usage(10, 5, None, None, 2)),
        (
            RequestUsage(input_tokens=10, output_tokens=5, details={"reasoning_tokens": 2}),
            Usage(10, 5, None, None, 2),
        ),
    ],
)
@pytest.mark.req("R-235")
def test_usage_comes_in_our_five_kinds_and_a_zero_that_may_be_silence_tells_nothing(told, usage):
    assert usage_of(told) == usage


# Asking its own models


@tool(effect="pure")
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [True, False])
async def test_its_test_model_calls_a_tool_and_answers_in_an_agent_of_ours(stream):
    agent = Agent(model=PydanticAIModel(TestModel(), stream=stream), tools=[add])
    result = await agent.run("What is 0 + 0?")
    assert (result.text, result.completed) == ('{"add":"0"}', True)
    assert result.usage.input_tokens


@pytest.mark.anyio
@pytest.mark.req("R-075", "R-077")
async def test_pieces_are_shown_as_they_come():
    async def pieces(messages, info):
        yield {0: DeltaThinkingPart(content="hm")}
        yield "one "
        yield "two"
        yield {2: DeltaToolCall(name="now", json_args='{"zo', tool_call_id="c1")}
        yield {2: DeltaToolCall(json_args='ne": 1}')}

    seen = watched(view_of(user("go"), settings=ModelSettings(options='{"temperature": 0.5, "tool_choice": "auto"}')))
    event = await PydanticAIModel(FunctionModel(stream_function=pieces)).answer(seen.run)
    assert isinstance(event, ModelReplied)
    assert (seen.text(ReasoningDelta), seen.text(TextDelta)) == ("hm", "one two")
    assert sum(isinstance(delta, TextDelta) for delta in seen.shown) == 2
    assert [(type(part), getattr(part, "text", "")) for part in event.parts[:2]] == [
        (ReasoningPart, "hm"),
        (TextPart, "one two"),
    ]
    assert event.parts[2].arguments == '{"zone": 1}'
    assert len(seen.emitted) == 1


@pytest.mark.anyio
@pytest.mark.req("R-018", "R-080")
async def test_options_and_hooks_reach_the_model_as_its_settings():
    found = {}

    async def pieces(messages, info):
        found.update(info.model_settings)
        yield "hi"

    options = '{"temperature": 0.5, "max_tokens": 9, "tool_choice": {"name": "now"}, "parallel_tool_calls": false}'
    seen = watched(
        view_of(user("go"), settings=ModelSettings(options=options)),
        refresh=lambda: {"x-token": KEY},
        convert=lambda view, body: body | {"seed": 7},
    )
    await PydanticAIModel(FunctionModel(stream_function=pieces)).answer(seen.run)
    told = {
        "temperature": 0.5,
        "max_tokens": 9,
        "parallel_tool_calls": False,
        "seed": 7,
        "max_retries": 0,
        "timeout": Timeouts().idle_s,
    }
    assert found == told | {"tool_choice": ["now"], "extra_headers": {"x-token": KEY}}
    assert [ran.hook for ran in seen.traced if isinstance(ran, HookRan)] == ["refresh-credentials", "convert-to-wire"]


@pytest.mark.anyio
async def test_a_hook_that_fails_fails_the_request():
    def refuse():
        raise OSError("the vault is closed")

    event = await PydanticAIModel(TestModel()).answer(watched(refresh=refuse).run)
    assert (event.code, event.kind) == ("hook-failed", ModelFailure.FATAL)
    assert "the vault is closed" in event.message


@pytest.mark.anyio
@in_time
async def test_a_stopped_request_ends_soon_and_tells_what_had_come():
    seen = watched()

    async def pieces(messages, info):
        yield "half"
        seen.run.stop.set()
        await anyio.sleep_forever()

    event = await PydanticAIModel(FunctionModel(stream_function=pieces)).answer(seen.run)
    assert isinstance(event, ModelStopped)
    assert event.parts == (TextPart("half"),)


# Failures


@pytest.mark.req("R-082", "D-14")
@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ContentFilterError("no"), "content-filter", ModelFailure.FATAL),
        (ModelConnectionError("m", "reset"), "connection", ModelFailure.RETRYABLE),
        (UnexpectedModelBehavior("odd", "{}"), "malformed-stream", ModelFailure.RETRYABLE),
        (UserError("no such thing"), "invalid-request", ModelFailure.FATAL),
        (ValueError("options"), "invalid-request", ModelFailure.FATAL),
        (KeyError("x"), "defect", ModelFailure.FATAL),
    ],
)
@pytest.mark.anyio
async def test_whatever_is_raised_is_classified(error, code, kind):
    async def pieces(messages, info):
        raise error
        yield ""

    event = await PydanticAIModel(FunctionModel(stream_function=pieces)).answer(watched().run)
    assert isinstance(event, ModelFailed)
    assert (event.code, event.kind) == (code, kind)
    assert failure_of(error, 0).fault.value == code


@pytest.mark.anyio
async def test_of_several_models_that_failed_one_that_may_pass_decides():
    async def gone(messages, info):
        raise ModelConnectionError("m", "reset")
        yield ""

    async def refused(messages, info):
        raise ContentFilterError("no")
        yield ""

    models = [FunctionModel(stream_function=each) for each in (gone, refused)]
    fallback = FallbackModel(*models, fallback_on=(ModelConnectionError, ContentFilterError))
    event = await PydanticAIModel(fallback).answer(watched().run)
    assert (event.code, event.kind) == ("connection", ModelFailure.RETRYABLE)
    assert "reset; no" in event.message


@pytest.mark.req("R-235")
def test_what_a_fallback_gave_up_counts_with_what_answered():
    spent = RequestUsage(input_tokens=7, output_tokens=3, cost=Decimal("0.5"))
    gone = theirs.ModelRequestAttempt(
        model_name="a", outcome="rejected", timestamp=datetime.now(UTC), duration=timedelta(), usage=spent
    )
    answer = theirs.ModelResponse([theirs.TextPart("hi")], usage=RequestUsage(input_tokens=1, output_tokens=1))
    model = PydanticAIModel(TestModel(), prices=Prices(1_000_000, 1_000_000))
    assert model._usage(replace(answer, failed_attempts=[gone])) == Usage(8, 4, cost_micros=500_002)
    silent = replace(gone, usage=None)
    assert model._usage(replace(answer, failed_attempts=[gone, silent])) == Usage(8, 4)
    assert PydanticAIModel(TestModel())._usage(answer) == Usage(1, 1)


REFUSALS = [
    (401, {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}, "auth", ModelFailure.FATAL),
    (429, {"message": "slow down", "code": "rate_limit_exceeded"}, "rate-limited", ModelFailure.RETRYABLE),
    (429, {"message": "pay", "code": "insufficient_quota"}, "quota", ModelFailure.FATAL),
    (400, {"message": "too long", "code": "context_length_exceeded"}, "context-overflow", ModelFailure.OVERFLOW),
    (404, {"message": "no such model", "code": "model_not_found"}, "not-found", ModelFailure.FATAL),
    (400, {"message": "bad"}, "invalid-request", ModelFailure.FATAL),
    (500, {"message": "oops"}, "server", ModelFailure.RETRYABLE),
    (503, {"message": "busy"}, "server", ModelFailure.RETRYABLE),
]


@ASYNCIO
@pytest.mark.anyio
@pytest.mark.req("R-142", "D-13", "D-14", "R-080")
@pytest.mark.parametrize(("status", "told", "code", "kind"), REFUSALS)
@in_time
async def test_a_refusal_is_classified_asked_once_and_without_the_key(status, told, code, kind):
    headers = {"content-type": "application/json", "retry-after": "7"}
    with serving(*[Answer((json.dumps({"error": told}).encode(),), status, headers)] * 3) as server:
        model = openai_model(server.url)
        event = await model.answer(watched().run)
        assert len(server.received) == 1
    assert (event.code, event.kind, event.status) == (code, kind, status)
    assert event.retry_after_ms == 7000
    assert KEY not in repr(event) + repr(model)
    assert ("[redacted]" in event.message) is (status == 401)


@ASYNCIO
@pytest.mark.anyio
@pytest.mark.req("R-235", "G-14")
@in_time
async def test_its_openai_model_streams_text_calls_usage_and_cost():
    used = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "now", "arguments": '{"zone":'}}
    rest = {"index": 0, "function": {"arguments": '"utc"}'}}
    stream = events(
        chunk({"content": "one "}),
        chunk({"content": "two"}),
        chunk({"tool_calls": [call]}),
        chunk({"tool_calls": [rest]}),
        chunk({}, "tool_calls"),
        {**chunk(usage=used), "choices": []},
    )
    with serving(Answer(stream)) as server:
        seen = watched(view_of(user("go"), instructions="Be kind."))
        event = await openai_model(server.url, prices=Prices(1_000_000, 1_000_000)).answer(seen.run)
        body = server.received[0].body
    assert isinstance(event, ModelReplied), event
    assert seen.text(TextDelta) == "one two"
    assert (event.parts[0].text, event.parts[1].arguments, event.finish) == (
        "one two",
        '{"zone":"utc"}',
        FinishReason.TOOL_CALLS,
    )
    assert event.usage == Usage(10, 2, 4, None, None, 12)
    assert body["messages"][0]["content"] == "Be kind."
    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"


@ASYNCIO
@pytest.mark.anyio
@pytest.mark.req("R-082", "D-14")
@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        (Answer((*events(chunk({"content": "half"}), done=False), RESET)), {"connection"}),
        (Answer(events(chunk({"content": "half"}), done=False)), {"truncated-stream"}),
        (
            Answer((*events(chunk({"content": "half"}), done=False), b"data: {no json\n\n")),
            {"malformed-stream", "server"},
        ),
    ],
)
@in_time
async def test_a_stream_that_breaks_is_a_failure_that_says_what_was_shown(answer, codes):
    with serving(answer) as server:
        event = await openai_model(server.url).answer(watched().run)
    assert isinstance(event, ModelFailed), event
    assert event.code in codes
    assert event.output_shown


@ASYNCIO
@pytest.mark.anyio
@in_time
async def test_a_hanging_server_is_left_when_told_to_stop():
    with serving(Answer((*events(chunk({"content": "half"}), done=False), HANG))) as server:
        seen = watched(show=lambda _: seen.run.stop.set())
        model = openai_model(server.url)
        event = await model.answer(seen.run)
    assert isinstance(event, ModelStopped)
    assert event.parts == (TextPart("half"),)


@ASYNCIO
@pytest.mark.anyio
@in_time
async def test_a_silent_server_is_given_up():
    with serving(Answer((*events(chunk({"content": "half"}), done=False), HANG))) as server:
        asked = view_of(user("go"), settings=ModelSettings(options='{"timeout": 0.2}'))
        event = await openai_model(server.url).answer(watched(asked).run)
    assert (event.code, event.kind, event.output_shown) == ("idle-timeout", ModelFailure.RETRYABLE, True)


@ASYNCIO
@pytest.mark.anyio
@pytest.mark.req("R-080")
async def test_in_an_agent_of_ours_a_broken_answer_is_tried_again_and_the_key_stands_nowhere(tmp_path):
    broken = Answer((*events(chunk({"content": "half"}), done=False), RESET))
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"x":1,"y":2}'}}
    asks = Answer(events(chunk({"tool_calls": [call]}), chunk({}, "tool_calls")))
    with serving(broken, asks, Answer(events(chunk({"content": "3"}), chunk({}, "stop")))) as server:
        agent = Agent(
            model=openai_model(server.url),
            tools=[add],
            rules=[allow()],
            store=FileStore(tmp_path),
            limits=Limits(retry_base_ms=1, retry_jitter_ms=0),
        )
        result = await agent.run("What is 1 + 2?")
        last = server.received[-1].body["messages"]
    assert (result.text, result.completed) == ("3", True)
    assert [message["role"] for message in last] == ["user", "assistant", "tool"]
    assert last[2]["content"] == "3"
    assert KEY not in "".join(path.read_bytes().decode() for path in tmp_path.rglob("*") if path.is_file())


def test_without_the_package_the_extra_is_named_and_all_else_is_there():
    program = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "import interpreters.agent, interpreters.models, interpreters.cli.host, interpreters.cli.usage\n"
        "import interpreters.models.pydantic_ai\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'agentcore-reducer[pydantic-ai]'" in ran.stderr.strip().split("\n")[-1]


def test_a_name_behind_pydantic_ai_is_read_by_it(monkeypatch):
    model = model_named("pydantic-ai:test", prices=Prices(1, 1))
    assert (model.target.profile.name, model.target.model, model.secrets) == ("pydantic-ai", "test", ())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    named = model_named("pydantic-ai:openai-chat:gpt-4o")
    assert (named.target.model, named.secrets) == ("gpt-4o", (KEY,))
    assert KEY not in repr(named)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelNotNamed, match="OPENAI_API_KEY"):
        model_named("pydantic-ai:openai-chat:gpt-4o")
    with pytest.raises(ModelNotNamed, match="takes address, dialect and key as pydantic-ai does"):
        model_named("pydantic-ai:test", base_url="http://127.0.0.1:1")


def test_without_the_package_its_names_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "interpreters.models.pydantic_ai", None)
    with pytest.raises(ModelNotNamed, match=r"interpreters\.models\.pydantic_ai"):
        model_named("pydantic-ai:test")
