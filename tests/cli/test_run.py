"""``run`` and ``resume``: what a task leads to, what is written where, and how the process ends."""

from __future__ import annotations

import json
import re

import anyio
import pytest

from agentcore import Config
from agentcore.codec import Header, encode_header
from interpreters.cli.exits import Exit
from interpreters.stores import FileStore
from tests.cli.replies import say, writes
from tests.models.byteserver import Answer, chunk, events, serving

pytestmark = pytest.mark.req("R-022")


@pytest.mark.req("R-229")
def test_a_pipe_is_given_the_answer_and_nothing_else(cli):
    ran = cli("run", "hi", *cli.script(say("I look.", ("list_files", {})), say("All is well.")))
    assert (ran.code, ran.out, ran.err) == (Exit.COMPLETED, "All is well.\n", "")


def test_an_answer_never_carries_control_characters(cli):
    ran = cli("run", "hi", *cli.script(say("a\x1b[31mb\x07\x9bc\u202ed")))
    assert ran.out == "a\\u001b[31mb\\u0007\\u009bc\\u202ed\n"


ENDS = [
    (Exit.COMPLETED, [say("x")], [], "final_answer"),
    (Exit.FAILED, [{"do": "break", "message": "gone", "kind": "fatal"}], [], "model_error"),
    (Exit.DENIED, [say("", writes("a"))], ["--policy", "strict"], "permission_denied"),
    (Exit.EXHAUSTED, [say("", ("list_files", {}))] * 3, ["--max-steps", "1"], "max_steps"),
    (Exit.EXHAUSTED, [say("", ("list_files", {}))], ["--max-tool-calls", "0"], "max_tool_calls"),
    (Exit.EXHAUSTED, [say("x")], ["--max-steps", "0"], "max_steps"),
    (Exit.FAILED, [say("")] * 4, [], "no_answer"),
    (Exit.UNRESOLVED, [say("", writes("a"))], ["--approval", "wait"], None),
]


@pytest.mark.req("R-094", "R-096")
@pytest.mark.parametrize(("code", "replies", "flags", "reason"), ENDS, ids=lambda value: str(value)[:30])
def test_each_end_has_its_exit_code_and_its_reason(cli, code, replies, flags, reason):
    ran = cli("run", "hi", "--json", *flags, *cli.script(*replies))
    assert (ran.code, ran.lines[-1]["exit"], ran.lines[-1]["reason"]) == (code, code, reason)


@pytest.mark.req("R-097")
def test_whoever_does_not_watch_is_told_why_it_ended_and_which_session_it_was(cli):
    ran = cli("run", "hi", "--id", "s1", "--max-steps", "0", *cli.script(say("x")))
    assert ran.err.startswith("Stopped at the limit of 0 model requests for one turn.")
    assert ran.err.endswith("The session is s1.\n")


@pytest.mark.req("R-100", "R-126", "R-132")
def test_json_has_every_view_in_order_and_the_result_last(cli):
    ran = cli("run", "hi", "--json", *cli.script(say("I look.", ("list_files", {})), say("Done.")))
    names = [line["view"] for line in ran.lines]
    assert [line["number"] for line in ran.lines[:-1]] == list(range(1, len(names)))
    assert [name for name in names if name not in ("state", "step_end", "text_delta")] == [
        "tool_start",
        "tool_result",
        "turn_end",
        "agent_end",
        "result",
    ]
    assert "".join(line["text"] for line in ran.lines if line["view"] == "text_delta") == "I look.Done."
    assert ran.lines[-1]["text"] == "Done."


def test_the_transitions_can_be_told_as_they_happen(cli):
    ran = cli("run", "hi", "--trace", *cli.script(say("x")))
    assert re.findall(r"^ +(\d+) ([a-z-]+)", ran.err, re.MULTILINE)[:2] == [
        ("1", "prompt-submitted"),
        ("2", "model-stream-opened"),
    ]


# Permission


def test_where_nobody_can_be_asked_a_question_is_a_refusal_the_model_hears_of(cli):
    ran = cli("run", "hi", "--id", "s", *cli.script(say("", writes("a.txt")), say("I was not allowed to.")))
    assert (ran.code, ran.out) == (Exit.COMPLETED, "I was not allowed to.\n")
    assert not (cli.place / "a.txt").exists()


@pytest.mark.req("R-113")
@pytest.mark.parametrize(
    ("flags", "written"),
    [
        (["--approval", "yes"], True),
        (["--allow", "write_file"], True),
        (["--allow", "write_file:path=notes/*"], False),
        (["--allow", "write_file:path=a.*"], True),
        (["--deny", "write_*", "--approval", "yes"], False),
        (["--allow", "write_file", "--deny", "*"], True),
        (["--deny", "*", "--allow", "write_file"], False),
        (["--ask", "write_file", "--approval", "no"], False),
    ],
)
def test_rules_are_read_from_flags_and_the_first_that_fits_decides(cli, flags, written):
    cli("run", "hi", *flags, *cli.script(say("", writes("a.txt", "hello")), say("ok")))
    assert (cli.place / "a.txt").exists() == written


def test_a_command_is_allowed_by_its_words_and_nothing_is_added_to_it(cli):
    calls = [("shell", {"command": command}) for command in ("echo one", "echo one; echo two > b.txt")]
    ran = cli("run", "hi", "--json", "--allow", "shell:command=echo", *cli.script(say("", *calls), say("ok")))
    results = {line["call_id"]: line["outcome"] for line in ran.lines if line["view"] == "tool_result"}
    assert results == {"1.1.0": "succeeded", "1.1.1": "denied-call"}
    assert not (cli.place / "b.txt").exists()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--allow", ":path=x"], "expected TOOL or TOOL:ARGUMENT=PATTERN"),
        (["--allow", "write_file:path"], "expected TOOL or TOOL:ARGUMENT=PATTERN"),
        (["--allow", "shell:command='x"], "cannot be read as words"),
        (["--allow", "shell:command="], "at least one word"),
        (["--approval", "ask"], "needs a terminal"),
        (["--prices", "1"], "expected two numbers"),
        (["--instructions", "@missing"], "missing cannot be read"),
        (["--workdir", "missing"], "the root 'missing' cannot be opened as a directory"),
        (["--model", "script:missing"], "missing cannot be read: No such file or directory"),
        (["--id", "../x"], "is not a safe name"),
        (["--id", ""], "is not a safe name"),
        (["--id", "\udcff"], "is not a safe name"),
        (["--env-file", "missing"], "missing cannot be read"),
        (["--base-url", "ftp://127.0.0.1", "--model", "m"], "expected http://HOST"),
    ],
)
def test_what_the_user_got_wrong_is_said_in_one_line_and_nothing_is_begun(cli, flags, told):
    ran = cli("run", "hi", *cli.script(say("x")), *flags)
    assert ran.code == Exit.USAGE
    assert told in ran.err
    assert ran.err.startswith("agentcore: ")
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert not cli.session("x").parent.exists()


@pytest.mark.parametrize("text", ["{", '[{"do":"sing"}]', "3", '[{"do":"say","txt":"x"}]'])
def test_a_script_that_is_none_says_what_is_wrong_with_it(cli, text):
    (cli.place / "s.json").write_text(text, encoding="utf-8")
    ran = cli("run", "hi", "--model", "script:s.json")
    assert ran.code == Exit.USAGE
    assert "s.json is no script" in ran.err


def test_a_task_can_come_from_standard_input_and_an_empty_one_is_refused(cli, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe\n"))
    assert cli("run", "-", "--id", "s", *cli.script(say("x"))).code == Exit.COMPLETED
    assert "from a pipe" in cli("show", "s").out
    assert "the task is empty" in cli("run", "  ", *cli.script(say("x"))).err


# A model over HTTP


def answer(text: str) -> Answer:
    return Answer(
        events(
            chunk({"content": text}), chunk(finish="stop"), chunk(usage={"prompt_tokens": 7, "completion_tokens": 0})
        )
    )


@pytest.mark.req("R-080")
def test_the_key_is_sent_and_stands_nowhere_on_the_disk(cli, monkeypatch):
    secret = "hunter-two-and-a-half"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    (cli.place / "leak.txt").write_text(f"the key is {secret}", encoding="utf-8")
    call = {"index": 0, "id": "c", "function": {"name": "read_file", "arguments": '{"path":"leak.txt"}'}}
    asks = Answer(events(chunk({"tool_calls": [call]}), chunk(finish="tool_calls")))
    with serving(asks, answer("fine")) as server:
        ran = cli("run", "hi", "--base-url", server.url, "--model", "m")
    assert (ran.code, ran.out) == (Exit.COMPLETED, "fine\n")
    assert [request.headers["authorization"] for request in server.received] == [f"Bearer {secret}"] * 2
    assert server.received[0].body["model"] == "m"
    assert "[redacted]" in json.dumps(server.received[1].body)
    stored = [path for path in (cli.place / "home").rglob("*") if path.is_file()]
    assert stored
    assert [path for path in stored if secret.encode() in path.read_bytes()] == []


def test_a_server_that_refuses_the_key_is_named_with_its_address(cli):
    with serving(Answer((b'{"error":{"message":"bad key","code":"invalid_api_key"}}',), 401)) as server:
        ran = cli("run", "hi", "--base-url", server.url, "--model", "m")
    assert ran.code == Exit.FAILED
    assert f"{server.url}/chat/completions: 401: bad key; no API key was given" in ran.err


@pytest.mark.req("R-084", "R-229")
def test_a_server_that_is_not_there_is_named_with_its_address_after_the_tries(cli):
    with serving() as server:
        url = server.url
    ran = cli("run", "hi", "--base-url", url, "--timeout", "2")
    assert ran.code in (Exit.FAILED, Exit.EXHAUSTED)
    shown = cli("log", cli("sessions", "--json").lines[0]["session_id"], "--json").out
    assert f"{url}/chat/completions: the server cannot be reached" in shown
    assert "Traceback" not in ran.err


@pytest.mark.req("R-235")
def test_a_price_gives_a_cost_and_a_limit_of_cost(cli):
    with serving(answer("x")) as server:
        ran = cli("run", "hi", "--base-url", server.url, "--json", "--prices", "1000000,1", "--max-cost", "0.5")
    assert ran.lines[-1]["usage"]["cost_micros"] == 7_000_000


# Going on


@pytest.mark.req("R-025")
def test_a_session_goes_on_with_a_further_message(cli):
    script = cli.script(say("one"), say("two"))
    cli("run", "first", "--id", "s", *script)
    ran = cli("resume", "s", "second", *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "two\n")
    said = [entry["text"] for entry in cli("show", "s", "--json").lines[0]["transcript"]]
    assert said == ["first", "one", "second", "two"]


def test_a_session_that_has_nothing_to_do_is_shown_as_it_ended(cli):
    script = cli.script(say("one"))
    cli("run", "first", "--id", "s", *script)
    ran = cli("resume", "s", *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "one\n")


def test_a_session_in_which_nothing_was_said_yet_says_so(cli):
    async def begin():
        journal = await FileStore(cli.session("s").parent).create("s", encode_header(Header("s", Config(), 0)))
        await journal.close()

    anyio.run(begin)
    ran = cli("resume", "s", *cli.script(say("one")))
    assert (ran.code, ran.err) == (Exit.COMPLETED, "No turn is open. Say something: agentcore resume s MESSAGE\n")
    assert cli("resume", "s", "hi", *cli.script(say("one"))).out == "one\n"


def test_the_same_id_is_not_begun_twice(cli):
    script = cli.script(say("one"))
    cli("run", "first", "--id", "s", *script)
    ran = cli("run", "first", "--id", "s", *script)
    assert ran.code == Exit.USAGE
    assert "session 's' exists already" in ran.err


@pytest.mark.req("G-6", "R-114")
def test_a_question_that_was_left_open_is_answered_by_a_later_command(cli):
    script = cli.script(say("", writes("a.txt", "hello")), say("written"))
    ran = cli("run", "hi", "--id", "s", "--approval", "wait", *script)
    assert ran.code == Exit.UNRESOLVED
    assert "A person is waited for. See: agentcore inspect s" in ran.err
    told = cli("inspect", "s")
    assert told.code == Exit.UNRESOLVED
    named = re.search(r"--approve (\S+)", told.out)[1]
    ran = cli("resume", "s", "--approve", named, *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "written\n")
    assert (cli.place / "a.txt").read_text(encoding="utf-8") == "hello"
    (record,) = cli("log", "s", "--audit", "--json").lines
    assert (record["by"], record["ok"]) == ("--approve", True)


@pytest.mark.req("G-6")
def test_a_word_for_other_arguments_than_were_shown_allows_nothing(cli):
    script = cli.script(say("", writes("a.txt")), say("ended"))
    cli("run", "hi", "--id", "s", "--approval", "wait", *script)
    ran = cli("resume", "s", "--approve", "1.1.0:0000", *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "ended\n")
    assert not (cli.place / "a.txt").exists()


def test_a_refusal_with_words_goes_to_the_model(cli):
    script = cli.script(say("", writes("a.txt")), say("as you say"))
    cli("run", "hi", "--id", "s", "--approval", "wait", *script)
    ran = cli("resume", "s", "--refuse", "1.1.0", "--feedback", "use b.txt", *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "as you say\n")
    assert "use b.txt" in cli("show", "s").out


def test_an_unknown_session_is_named_with_the_place_that_was_looked_in(cli):
    ran = cli("resume", "nobody", *cli.script(say("x")))
    assert ran.code == Exit.UNKNOWN
    assert f"there is no session 'nobody' in {cli.place / 'home' / 'sessions'}" in ran.err


@pytest.mark.parametrize("place", ["file", "file/deeper", "/proc/nowhere"])
def test_a_place_where_nothing_can_be_kept_is_named(cli, place):
    (cli.place / "file").write_text("", encoding="utf-8")
    ran = cli("run", "hi", "--sessions", place, *cli.script(say("x")))
    assert ran.code == Exit.STORAGE
    assert f"storage unavailable: create failed at {place}" in ran.err


# Odd tools and odd models


def test_a_hundred_megabytes_of_output_are_bounded_and_kept_beside_the_journal(cli):
    command = "head -c 100000000 /dev/zero | tr '\\0' x"
    script = cli.script(say("", ("shell", {"command": command})), say("long"))
    ran = cli("run", "hi", "--id", "s", "--json", "--allow", "shell", *script)
    (result,) = [line for line in ran.lines if line["view"] == "tool_result"]
    assert ran.code == Exit.COMPLETED
    assert len(result["result"]) < 40_000
    assert "the whole is kept as" in result["result"]
    kept = sum(path.stat().st_size for path in (cli.session("s") / "kept").iterdir())
    assert kept == 100_000_000
    assert len(ran.out) < 4_000_000


@pytest.mark.parametrize("arguments", ['{"path": NaN}', '{"path": "\\ud800"}', '{"path": "a"', "[]", "nonsense"])
def test_odd_arguments_are_told_to_the_model_and_harm_nothing(cli, arguments):
    reply = {"do": "say", "calls": [{"tool": "read_file", "arguments": arguments}]}
    ran = cli("run", "hi", "--id", "s", *cli.script(reply, say("I see."), say("I see.")))
    assert (ran.code, ran.out) == (Exit.COMPLETED, "I see.\n")
    assert cli("show", "s").code == Exit.COMPLETED


def test_bytes_that_are_no_text_are_replaced_wherever_they_are_typed(cli):
    odd = "x\udcff\ud800"
    script = cli.script(say("", writes("a")), say("fine"), say("more"))
    flags = ("--instructions", odd, "--deny", f"write_file:path={odd}", "--deny", "write_file", *script)
    assert cli("run", odd, "--id", "s", *flags).out == "fine\n"
    assert cli("resume", "s", odd, "--accept-gap", odd, "--feedback", odd, *script).out == "more\n"
    assert cli("show", "s").out.startswith("You\nx\ufffd\ufffd\n")
