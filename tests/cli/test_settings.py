"""Where settings come from, and which of them never go where they should not."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from interpreters.cli.exits import Problem
from interpreters.cli.settings import Settings, endpoint, read_settings, sessions_place
from interpreters.support.dotenv import DotenvError, parse_dotenv, read_dotenv


def settings(flags=None, environment=None, file=None):
    return Settings(flags or {}, environment or {}, file or {})


# .env


def ours(name):
    return name.startswith(("OPENAI_", "AGENTCORE_"))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("OPENAI_API_KEY=abc", "abc"),
        ("  export OPENAI_API_KEY = abc  # the key", "abc"),
        ('OPENAI_API_KEY="a b#c"', "a b#c"),
        (r'OPENAI_API_KEY="a\"b\\c"', 'a"b\\c'),
        ("OPENAI_API_KEY='a\\b$HOME'", "a\\b$HOME"),
        ("OPENAI_API_KEY=", ""),
        ("OPENAI_API_KEY=abc\r", "abc"),
    ],
)
def test_a_line_of_ours_has_one_meaning(line, value):
    assert parse_dotenv(f"# settings\n\n{line}\n", ".env", ours) == {"OPENAI_API_KEY": value}


@pytest.mark.parametrize(
    "line", ["OPENAI_API_KEY=a b", 'OPENAI_API_KEY="a', "OPENAI_API_KEY", "OPENAI_API_KEY='a' b", 'OPENAI_API_KEY=a"b']
)
def test_any_other_line_of_ours_is_an_error_that_names_the_line_and_never_the_value(line):
    with pytest.raises(DotenvError, match=r"\.env, line 2: OPENAI_API_KEY has no value that can be read") as told:
        parse_dotenv(f"A=1\n{line}x9secret\n" if "=" in line else f"A=1\n{line}\n", ".env", ours)
    assert "x9secret" not in str(told.value)


def test_a_name_that_is_set_twice_is_an_error():
    with pytest.raises(DotenvError, match="line 2: AGENTCORE_MODEL is set a second time"):
        parse_dotenv("AGENTCORE_MODEL=a\nAGENTCORE_MODEL=b", ".env", ours)


def test_lines_of_other_programs_are_passed_over():
    assert parse_dotenv('DATABASE="x\n  y"\n!!!\nPATH=$PATH:/x\nMY_OPENAI_API_KEY=no\n', ".env", ours) == {}


def test_a_file_that_is_missing_or_no_text_says_so(tmp_path):
    assert read_dotenv(tmp_path / ".env", ours, required=False) == {}
    with pytest.raises(DotenvError, match="cannot be read"):
        read_dotenv(tmp_path / ".env", ours, required=True)
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=\xff")
    with pytest.raises(DotenvError, match="is not UTF-8 text"):
        read_dotenv(tmp_path / ".env", ours, required=False)


# Who goes first


def test_a_flag_goes_before_the_environment_and_that_before_the_file():
    flag = settings({"model": "f"}, {"AGENTCORE_MODEL": "e"}, {"AGENTCORE_MODEL": "d"})
    assert flag.get("model", "AGENTCORE_MODEL").value == "f"
    environment = settings({}, {"AGENTCORE_MODEL": "e"}, {"AGENTCORE_MODEL": "d"})
    assert environment.get("model", "AGENTCORE_MODEL").value == "e"
    file = settings({}, {"AGENTCORE_MODEL": " "}, {"AGENTCORE_MODEL": "d"})
    assert file.get("model", "AGENTCORE_MODEL").value == "d"


@pytest.mark.req("R-080")
def test_the_key_comes_from_wherever_it_is_set():
    for given in (
        settings({"model": "m", "api_key": "k"}),
        settings({"model": "m"}, {"OPENAI_API_KEY": "k"}),
        settings({"model": "m"}, {"AGENTCORE_API_KEY": "k", "OPENAI_API_KEY": "other"}),
        settings({}, {}, {"OPENAI_API_KEY": "k", "AGENTCORE_MODEL": "m"}),
    ):
        found = endpoint(given)
        assert (found.model, found.key, found.base_url) == ("m", "k", "https://api.openai.com/v1")
        assert "k'" not in repr(found)


def test_no_setting_is_shown_by_its_repr():
    given = settings({"api_key": "marker-1"}, {"OPENAI_API_KEY": "marker-2"}, {"AGENTCORE_API_KEY": "marker-3"})
    told = [repr(given), repr(given.get("api_key")), repr(given.get("", "OPENAI_API_KEY"))]
    assert not [text for text in told if "marker" in text]


def test_a_missing_key_names_the_variable():
    with pytest.raises(
        Problem,
        match=r"no API key for api\.openai\.com: set AGENTCORE_API_KEY \(or OPENAI_API_KEY\) in the environment or",
    ):
        endpoint(settings({"model": "m"}))


def test_a_missing_model_names_flag_and_variable():
    with pytest.raises(Problem, match="give --model NAME or set AGENTCORE_MODEL"):
        endpoint(settings({}, {"OPENAI_API_KEY": "k"}))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1", "https://127.0.0.2"]
)
def test_a_server_on_this_machine_needs_neither_key_nor_name(url):
    found = endpoint(settings({"base_url": url}))
    assert (found.base_url, found.model, found.key) == (url, "", "")


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1.example.org", "https://localhost.example.org", "https://x/127.0.0.1"]
)
def test_an_address_that_only_looks_like_this_machine_needs_a_key(url):
    with pytest.raises(Problem, match="no API key"):
        endpoint(settings({"base_url": url, "model": "m"}))


def test_an_address_from_a_file_is_not_given_the_key_of_the_environment():
    file = {"OPENAI_BASE_URL": "https://elsewhere.example"}
    with pytest.raises(Problem, match=r"comes from \.env and the key OPENAI_API_KEY from the environment"):
        endpoint(settings({"model": "m"}, {"OPENAI_API_KEY": "k"}, file))
    assert endpoint(settings({"model": "m"}, {}, file | {"OPENAI_API_KEY": "k"})).key == "k"
    assert endpoint(settings({"model": "m", "api_key": "k"}, {}, file)).key == "k"
    assert endpoint(settings({"model": "m", "base_url": "https://chosen.example"}, {"OPENAI_API_KEY": "k"}, file)).key


def test_no_message_about_an_address_shows_a_password_in_it():
    with pytest.raises(Problem) as told:
        endpoint(settings({"base_url": "https://me:hunter22@x.example:81/v1", "model": "m"}))
    assert "x.example:81" in str(told.value)
    assert "hunter22" not in str(told.value)


# Where sessions are


@pytest.mark.parametrize(
    ("flags", "environment", "place"),
    [
        ({"sessions": "here"}, {"AGENTCORE_HOME": "/h"}, "here"),
        ({}, {"AGENTCORE_HOME": "/h", "XDG_DATA_HOME": "/x"}, "/h/sessions"),
        ({}, {"XDG_DATA_HOME": "/x", "HOME": "/u"}, "/x/agentcore/sessions"),
        ({}, {"HOME": "/u"}, "/u/.local/share/agentcore/sessions"),
    ],
)
def test_sessions_are_where_a_flag_a_variable_or_the_standard_says(flags, environment, place):
    assert sessions_place(settings(flags, environment)) == Path(place)


def test_without_any_place_for_sessions_that_is_said():
    with pytest.raises(Problem, match="no place for sessions"):
        sessions_place(settings())


def test_settings_are_read_from_the_named_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("AGENTCORE_MODEL=a", encoding="utf-8")
    (tmp_path / "other").write_text("AGENTCORE_MODEL=b", encoding="utf-8")
    assert read_settings(argparse.Namespace()).file == {"AGENTCORE_MODEL": "a"}
    assert read_settings(argparse.Namespace(env_file="other")).file == {"AGENTCORE_MODEL": "b"}
