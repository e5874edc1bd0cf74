"""Models by name: who is meant, where, with which key; and that the key goes to the server and nowhere else."""

from __future__ import annotations

import json
import logging

import pytest

from agentcore import Limits
from agentcore.events import ModelFailed, ModelReplied
from agentcore.states import StopReason
from interpreters import Agent, FileStore, Hooks, allow, model_named, tool
from interpreters.models import DIALECTS, PROFILES, Prices, Variables
from interpreters.models.names import (
    DIALECT_NAMES,
    VARIABLES,
    KeyOfAnother,
    MissingAddress,
    MissingKey,
    UnknownProvider,
    find_target,
    is_named,
)
from interpreters.models.prices import ListedPrices
from interpreters.support.dotenv import DotenvError
from tests.models.byteserver import Answer, chunk, events, serving
from tests.models.runs import watched

KEY = "marker-key-9f8e7d6c5b4a"
HI = Answer(events(chunk({"content": "hi"}), chunk({}, "stop")))
JSON = {"content-type": "application/json"}
NONE = Variables()


# Who is meant


@pytest.mark.parametrize("name", PROFILES)
def test_every_row_can_be_named_with_its_own_key_and_address(name):
    profile = PROFILES[name]
    environment = {profile.key_variables[0]: f" {KEY}\n"} | {
        variable: "https://own.example" for variable in profile.url_variables[:1] if not profile.base_url
    }
    found = find_target(f"{name}:some/model:7b", Variables(environment))
    assert (found.profile, found.model, found.key) == (profile, "some/model:7b", KEY)
    assert found.base_url == (profile.base_url or f"https://own.example{profile.url_suffix}")
    assert KEY not in repr(found)


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.base_url and profile.needs_key])
def test_a_missing_key_names_every_variable_that_could_hold_it(name):
    with pytest.raises(MissingKey, match="no API key for") as told:
        find_target(f"{name}:m", NONE)
    assert all(variable in str(told.value) for variable in PROFILES[name].key_variables)


@pytest.mark.parametrize("name", ["ollama", "vllm", "llamacpp"])
def test_a_server_of_ones_own_needs_no_key(name):
    assert find_target(f"{name}:m", NONE).key == ""


def test_a_missing_address_names_its_variable():
    with pytest.raises(MissingAddress, match="no address for azure: set AZURE_OPENAI_ENDPOINT"):
        find_target("azure:m", NONE)
    with pytest.raises(MissingAddress, match="no address for compatible: give base_url="):
        find_target("chat:m", NONE)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt-5", "expected PROVIDER:NAME with one of openai"),
        ("acme:gpt-5", "nobody is known who has the model 'acme:gpt-5'"),
        ("openai:", "names no model: expected openai:NAME"),
        ("openai: ", "names no model"),
        ("", "expected PROVIDER:NAME"),
    ],
)
def test_a_name_that_says_nobody_is_refused_with_what_would_do(name, told):
    with pytest.raises(UnknownProvider, match=told):
        find_target(name, NONE)
    with pytest.raises(UnknownProvider, match="there is no dialect 'morse'; there are: chat, responses, anthropic"):
        find_target("openai:m", NONE, dialect="morse", api_key="k")


@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_an_address_with_a_dialect_is_enough(dialect):
    for given in (("m:7b", {"dialect": dialect}), (f"{dialect}:m:7b", {})):
        if given == ("anthropic:m:7b", {}):
            continue  # a provider's name too
        found = find_target(given[0], NONE, base_url="http://127.0.0.1:1/v1", **given[1])
        assert (found.profile.dialect, found.model, found.key) == (dialect, "m:7b", "")
    known = find_target("openai:m", NONE, base_url="https://models.example", dialect=dialect, api_key=KEY)
    assert (known.profile.dialect, known.profile.role) == (dialect, PROFILES["openai"].role)


def test_the_dialects_that_can_be_named_are_those_there_are():
    assert set(DIALECT_NAMES) == set(DIALECTS)
    assert {profile.dialect for profile in PROFILES.values()} <= set(DIALECTS)


def test_only_what_stands_before_the_first_colon_is_looked_at():
    assert is_named("ollama:qwen3:4b")
    assert is_named("responses:m")
    assert not is_named("qwen3:4b")
    assert not is_named("openai")


# Addresses and keys


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("http://10.0.0.5:11434", "http://10.0.0.5:11434/v1"),
        ("http://10.0.0.5:11434/v1/", "http://10.0.0.5:11434/v1"),
        ("10.0.0.5", "http://10.0.0.5:11434/v1"),
        ("10.0.0.5:80", "http://10.0.0.5:80/v1"),
    ],
)
def test_an_address_out_of_a_variable_is_completed(told, address):
    assert find_target("ollama:m", Variables({"OLLAMA_HOST": told})).base_url == address
    azure = find_target("azure:m", Variables({"AZURE_OPENAI_ENDPOINT": "me.example"}), api_key="k")
    assert azure.base_url == "https://me.example/openai/v1"


def test_what_is_given_goes_before_the_environment_and_that_before_a_file():
    known = Variables({"OPENAI_API_KEY": "e", "OPENAI_BASE_URL": "https://e.example"}, {"OPENAI_API_KEY": "f"})
    assert find_target("openai:m", known).key == "e"
    given = find_target("openai:m", known, api_key="g", base_url="https://g.example")
    assert (given.key, given.base_url) == ("g", "https://g.example")
    assert find_target("openai:m", Variables({"OPENAI_API_KEY": " "}, {"OPENAI_API_KEY": "f"})).key == "f"


def test_a_key_of_the_environment_is_not_sent_where_a_file_says():
    file = {"OPENAI_BASE_URL": "https://elsewhere.example"}
    with pytest.raises(KeyOfAnother, match=r"comes from \.env and the key OPENAI_API_KEY from the environment"):
        find_target("openai:m", Variables({"OPENAI_API_KEY": KEY}, file))
    assert find_target("openai:m", Variables({}, file | {"OPENAI_API_KEY": KEY})).key == KEY
    assert find_target("openai:m", Variables({"OPENAI_API_KEY": KEY}, file), base_url="https://mine.example").key == KEY


def test_a_key_of_one_provider_is_not_taken_for_another():
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        find_target("anthropic:m", Variables({"OPENAI_API_KEY": KEY}))


def test_the_environment_is_this_process_s_and_a_file_is_read_where_it_is_named(monkeypatch, tmp_path):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".env").write_text(f"DEEPSEEK_API_KEY='{KEY}'\nOTHER=$(x)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingKey):
        model_named("deepseek:m")  # no file is read that was not named
    assert model_named("deepseek:m", env_file=".env").secrets == (KEY,)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "other")
    assert model_named("deepseek:m", env_file=".env").secrets == ("other",)
    with pytest.raises(DotenvError, match="none cannot be read"):
        model_named("deepseek:m", env_file="none")


def test_an_agent_takes_a_name(monkeypatch):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(ValueError, match="set DEEPSEEK_API_KEY in the environment, or give api_key="):
        Agent(model="deepseek:m")
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    assert KEY not in repr(vars(Agent(model="deepseek:m")))


def test_a_named_model_is_priced_by_the_list_unless_told():
    listed, told = (model_named("openai:m", api_key=KEY, prices=prices) for prices in (None, Prices(1, 1)))
    assert listed._inner._prices == ListedPrices("https://api.openai.com/v1")
    assert told._inner._prices == Prices(1, 1)


# Asking


@pytest.mark.anyio
@pytest.mark.req("R-080")
async def test_a_key_may_be_fetched_for_each_attempt():
    keys = iter(["first-token", "second-token", "third-token"])

    async def slowly() -> str:
        return next(keys)

    with serving(HI, HI, HI) as server:
        plain = model_named("openai:m", base_url=server.url, api_key=lambda: next(keys))
        slow = model_named("azure:m", base_url=server.url, api_key=slowly)
        for model in (plain, plain, slow):
            assert isinstance(await model.answer(watched().run), ModelReplied)
        assert plain.secrets == ()
    sent = [request.headers.get("authorization") or request.headers["api-key"] for request in server.received]
    assert sent == ["Bearer first-token", "Bearer second-token", "third-token"]


@pytest.mark.anyio
@pytest.mark.req("R-080")
@pytest.mark.parametrize("gives", ["", " ", None])
async def test_a_key_that_cannot_be_fetched_fails_the_request_and_says_so(gives):
    def fetch() -> str:
        if gives is None:
            raise OSError("the vault is closed")
        return gives

    model = model_named("openai:m", base_url="http://127.0.0.1:1", api_key=fetch)
    event = await model.answer(watched().run)
    assert isinstance(event, ModelFailed)
    assert event.code == "hook-failed"
    assert ("the vault is closed" if gives is None else "what gives the key for openai gave none") in event.message


@tool(effect="pure")
def leak() -> str:
    """Say what should not be said."""
    return f"the key is {KEY}"


class Log:
    """Takes the lines of an engine."""

    def __init__(self, lines: list) -> None:
        self.lines = lines

    def info(self, event: str, **fields) -> None:
        self.lines.append((event, fields))

    warning = info


def echoing(status: int) -> Answer:
    """A server that repeats the key in its refusal, as some do."""
    told = {"error": {"message": f"Incorrect API key provided: {KEY}", "headers": f"Bearer {KEY}", "code": status}}
    return Answer((json.dumps(told).encode(),), status, JSON)


@pytest.mark.anyio
@pytest.mark.req("R-080")
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "azure", "anthropic"])
@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.parametrize("fetched", [False, True], ids=["given", "fetched"])
async def test_a_key_stands_in_no_log_journal_error_view_or_repr(tmp_path, caplog, provider, status, fetched):
    caplog.set_level(logging.DEBUG)
    seen, logged = [], []
    with serving(*[echoing(status)] * 2) as server:
        model = model_named(f"{provider}:m", base_url=server.url, api_key=(lambda: KEY) if fetched else KEY)
        hasty = Limits(model_retries=1, retry_base_ms=1, retry_jitter_ms=0)
        agent = Agent(model=model, tools=[leak], store=FileStore(tmp_path), limits=hasty, log=Log(logged))
        async with agent.open("s", create=True) as session:
            seen.extend([repr(shown) async for shown in session.stream("go")])
            result = session.result
    assert result.reason is StopReason.MODEL_ERROR
    assert "[redacted]" in result.explanation
    assert KEY in str([request.headers for request in server.received])
    stored = [path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    told = [*stored, *seen, *map(repr, logged), *map(repr, caplog.records), caplog.text]
    told += [repr(model), repr(model.target), str(result), repr(vars(agent))]
    assert stored
    assert logged
    assert not [text for text in told if KEY in text]


@pytest.mark.anyio
@pytest.mark.req("R-080")
async def test_a_tool_that_finds_the_key_does_not_tell_it(tmp_path):
    call = {"index": 0, "id": "c", "function": {"name": "leak", "arguments": "{}"}}
    asks = Answer(events(chunk({"tool_calls": [call]}), chunk(finish="tool_calls")))
    with serving(asks, HI) as server:
        model = model_named("openai:m", base_url=server.url, api_key=KEY)
        agent = Agent(model=model, tools=[leak], rules=[allow()], store=FileStore(tmp_path))
        assert (await agent.run("go")).text == "hi"
    assert "the key is [redacted]" in json.dumps(server.received[1].body)
    assert KEY not in "".join(path.read_text() for path in tmp_path.rglob("*.ndjson"))


@pytest.mark.anyio
@pytest.mark.req("R-080")
@pytest.mark.parametrize("fetched", [False, True], ids=["given", "fetched"])
async def test_a_server_that_repeats_the_key_in_its_answer_puts_it_into_no_journal(tmp_path, fetched):
    call = {"index": 0, "id": "c", "function": {"name": "leak", "arguments": json.dumps({"key": KEY})}}
    thought = chunk({"reasoning": f"sent with {KEY}"}, model=f"m-{KEY}", id=f"c-{KEY}")
    asks = Answer(events(thought, chunk({"content": f"I saw {KEY}.", "tool_calls": [call]}), chunk({}, "tool_calls")))
    seen = []
    with serving(asks, HI) as server:
        model = model_named("openai:m", base_url=server.url, api_key=(lambda: KEY) if fetched else KEY)
        agent = Agent(model=model, tools=[leak], rules=[allow()], store=FileStore(tmp_path))
        async with agent.open("s", create=True) as session:
            seen.extend([repr(shown) async for shown in session.stream("go")])
            assert session.result.text == "hi"
    stored = [path.read_bytes().decode() for path in tmp_path.rglob("*") if path.is_file()]
    assert "I saw [redacted]." in "".join(stored)
    assert not [text for text in (*stored, *seen) if KEY in text]


@pytest.mark.anyio
@pytest.mark.req("R-080")
async def test_what_the_host_s_own_hook_gives_goes_before_the_key():
    with serving(HI) as server:
        model = model_named("openai:m", base_url=server.url, api_key=lambda: KEY)
        hooks = Hooks(refresh_credentials=lambda: {"Authorization": "Bearer hook", "x-more": "1"})
        assert (await Agent(model=model, hooks=hooks).run("go")).text == "hi"
    assert (server.received[0].headers["authorization"], server.received[0].headers["x-more"]) == ("Bearer hook", "1")
