"""Models named on the command line: who is asked, with which key, at what price; and what a session consumed."""

from __future__ import annotations

import io
import socket
import sys

import pytest

from interpreters.cli.exits import Exit
from interpreters.cli.host import make_host
from interpreters.cli.output import Output
from interpreters.cli.parser import parse
from interpreters.models import PROFILES
from interpreters.models.names import VARIABLES
from interpreters.models.prices import HOW_TO_GET, price_list
from tests.cli.replies import say
from tests.conftest import ROOT
from tests.models.byteserver import RESET, Answer, chunk, events, serving

KEY = "marker-key-9f8e7d6c5b4a"


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """No key and no address of the real user."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def answer(text: str = "hi", **usage: int) -> Answer:
    told = [chunk(usage=usage)] if usage else []
    return Answer(events(chunk({"content": text}), chunk(finish="stop"), *told))


# Who is asked


@pytest.mark.req("R-080")
def test_a_provider_s_own_variable_holds_its_key(cli, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    with serving(answer()) as server:
        ran = cli("run", "hi", "--model", "deepseek:deepseek-chat", "--base-url", server.url, "--id", "s")
    assert (ran.code, ran.out) == (Exit.COMPLETED, "hi\n")
    asked = server.received[0]
    assert (asked.headers["authorization"], asked.body["model"]) == (f"Bearer {KEY}", "deepseek-chat")
    stored = b"".join(path.read_bytes() for path in cli.place.rglob("*") if path.is_file())
    assert KEY.encode() not in stored
    assert server.url.encode() not in stored


def test_name_and_key_may_stand_in_a_file(cli):
    (cli.place / ".env").write_text(f"AGENTCORE_MODEL=mistral:m\nMISTRAL_API_KEY={KEY}\n", encoding="utf-8")
    with serving(answer()) as server:
        assert cli("run", "hi", "--base-url", server.url).code == Exit.COMPLETED
    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ["--model", "anthropic:m"],
            "no API key for api.anthropic.com: set ANTHROPIC_API_KEY in the environment or in",
        ),
        (
            ["--model", "zhipu:m"],
            "set ZHIPU_API_KEY (or ZHIPUAI_API_KEY) in the environment or in .env, or give --api-",
        ),
        (["--model", "azure:m"], "no address for azure: set AZURE_OPENAI_ENDPOINT in the environment or in .env, or"),
        (["--model", "openai:"], "names no model: expected openai:NAME"),
        (["--model", "chat:m"], "no address for compatible: in the environment or in .env, or give --base-url"),
        (["--model", "m", "--base-url", "nonsense"], "it was given as --base-url or AGENTCORE_BASE_URL"),
    ],
)
def test_what_is_missing_is_named_with_its_variable_and_flag(cli, flags, told):
    ran = cli("run", "hi", *flags)
    assert ran.code == Exit.USAGE
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_a_dialect_can_be_chosen_for_a_server(cli):
    with serving(answer(), answer()) as server:
        for flags in (("--model", "m", "--dialect", "chat"), ("--model", "chat:m")):
            assert cli("run", "hi", *flags, "--base-url", server.url).code == Exit.COMPLETED
    assert [asked.path for asked in server.received] == ["/v1/chat/completions"] * 2


def test_a_model_of_pydantic_ai_can_be_named(cli):
    pytest.importorskip("pydantic_ai", reason="needs pip install 'agentcore-reducer[pydantic-ai]'")
    ran = cli("run", "hi", "--model", "pydantic-ai:test", "--allow", "*", "--no-shell", "--workdir", str(cli.place))
    assert ran.code != Exit.USAGE
    assert "Traceback" not in ran.err
    ran = cli("run", "hi", "--model", "pydantic-ai:nobody:x")
    assert (ran.code, "nobody" in ran.err, "Traceback" in ran.err) == (Exit.USAGE, True, False)
    ran = cli("run", "hi", "--model", "pydantic-ai:test", "--base-url", "http://127.0.0.1:1")
    assert "--base-url says nothing to pydantic-ai" in ran.err


@pytest.mark.parametrize("name", PROFILES)
def test_the_page_names_every_provider_with_its_variables(name):
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    profile = PROFILES[name]
    for piece in (name, *profile.key_variables, *profile.url_variables):
        assert f"`{piece}`" in page


# What it may cost


@pytest.mark.req("R-105")
def test_a_limit_of_cost_that_nothing_could_reach_is_refused(cli, monkeypatch):
    pytest.importorskip("genai_prices", reason=f"needs {HOW_TO_GET}")
    flags = ("run", "hi", "--model", "vllm:m", "--base-url", "http://127.0.0.1:1", "--max-cost", "1")
    ran = cli(*flags)
    assert ran.code == Exit.USAGE
    assert "no price of 'm' at this address is known; give --prices IN,OUT" in ran.err
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_list.cache_clear()
    try:
        assert HOW_TO_GET in cli(*flags).err
    finally:
        price_list.cache_clear()


@pytest.mark.parametrize("name", ["openai:gpt-4o", "openrouter:anybody/anything"])
def test_a_limit_of_cost_is_taken_where_prices_are_known_or_the_provider_tells(cli, name):
    pytest.importorskip("genai_prices", reason=f"needs {HOW_TO_GET}")
    typed = parse(["run", "hi", "--model", name, "--api-key", KEY, "--max-cost", "1"])
    host = make_host(typed, Output())
    assert host.agent.config.limits.cost_micros == 1_000_000
    assert KEY not in repr(vars(host.agent))


# What was consumed


@pytest.fixture
def broken_once(cli):
    """A session whose first attempt broke without a word of usage, and whose second told all."""
    broken = Answer((*events(chunk({"content": "h"}), done=False), RESET))
    with serving(broken, answer("hi", prompt_tokens=1_000_000, completion_tokens=5)) as server:
        ran = cli("run", "hi", "--base-url", server.url, "--model", "m-1", "--id", "s", "--prices", "2,0")
    assert ran.code == Exit.COMPLETED
    return cli


@pytest.mark.req("R-235")
def test_usage_shows_every_attempt_and_what_the_sums_leave_out(broken_once, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    ran = broken_once("show", "s", "--usage")
    lines = ran.out.split("\n")
    assert lines[0].split() == ["event", "attempt", "ended", "input", "output", "cost", "model"]
    assert lines[1].split()[1:] == ["1.1/0.1", "failed", "(connection)", "not", "told", "not", "told", "unknown"]
    assert lines[2].split()[1:] == ["1.1/0.2", "replied", "1,000,000", "5", "2.0000", "m"]
    assert "2.0000 + unknown" in ran.out
    assert "1 of 2 attempts did not tell what they consumed" in ran.out
    assert ran.code == Exit.COMPLETED


@pytest.mark.req("R-235")
def test_usage_is_there_for_programs_too(broken_once):
    told = broken_once("show", "s", "--usage", "--json").lines[0]
    assert [(one["attempt"], one["ended"], one["usage"]["cost_micros"]) for one in told["attempts"]] == [
        (1, "failed", None),
        (2, "replied", 2_000_000),
    ]
    assert told["session"]["input_tokens"] == 1_000_000
    assert told["cost"]["session"] == {
        "micros": 2_000_000,
        "attempts": 2,
        "unpriced": 0,
        "untold": 1,
        "complete": False,
    }


@pytest.mark.req("R-229", "R-235")
def test_a_session_that_asked_nobody_consumed_nothing(cli, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    cli("chat", *cli.script())
    session = cli("sessions", "--json").lines[0]["session_id"]
    assert "nothing yet" in cli("show", session, "--usage").out


def test_where_the_list_of_prices_is_missing_that_is_said_with_the_cost(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_list.cache_clear()
    try:
        cli("run", "hi", "--id", "s", *cli.script(say("x") | {"usage": {"input_tokens": 7, "output_tokens": 5}}))
        told = cli("show", "s", "--usage").out
    finally:
        price_list.cache_clear()
    assert "1 of 1 attempts have no known price" in told
    assert HOW_TO_GET in told
