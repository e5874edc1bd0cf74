"""BC-37: half a surrogate pair in a result or an argument made every later request invalid.

Text from outside is cleaned before it becomes an event: a lone half stands as U+FFFD, a whole emoji as it is. What an
older log still holds is cleaned when it is read. So every request, compaction and checkpoint is made of the same text.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcore import Effect, Limits
from agentcore.codec import EncodeError, decode_event, encode_event, encode_state, parsing
from agentcore.events import ModelReplied, ToolSucceeded
from agentcore.messages import MessageSource, TextPart, UserMessage, digest
from agentcore.steps import reply
from interpreters import Agent, FileStore, HttpModel, tool
from interpreters.engine import read_state
from interpreters.models.chat_encode import encode_chat
from interpreters.scripted import Say, ScriptedGate, ScriptedModel
from interpreters.stores.lines import event_line
from interpreters.support.bounded import Cut
from interpreters.tools import Toolbox, results, toolbox
from tests.cases.helpers_a import Case, crash_image, fails, fails_async, journalled, patched
from tests.cases.helpers_b import lines_of, strict
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

LONE, OTHER, MARK, EMOJI = "\ud83d", "\ud99c", "\ufffd", "\U0001f600"
LONG = "abcdefghi" + EMOJI + "and more text behind it"


def asks(name: str, arguments: str) -> Answer:
    function = {"name": name, "arguments": arguments}
    asked = chunk({"tool_calls": [{"index": 0, "id": "c0", "type": "function", "function": function}]})
    return Answer(events(asked, chunk({}, "tool_calls")))


DONE = Answer(events(chunk({"content": f"done {EMOJI}"}), chunk({}, "stop")))


async def check(folder: Path, output: str, *, arguments: str = "{}", output_max: int = 30_000) -> str:
    """A real tool, a real server, a real journal; what the model is told of the call is returned."""
    got = []

    @tool(effect="pure")
    async def look(path: str = "") -> str:
        """Look."""
        got.append(path)
        return output

    box, store = Toolbox([look], output_max=output_max), FileStore(folder)
    with serving(asks("look", arguments), DONE) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), tools=box, rules=ScriptedGate(), store=store)
        async with agent.open("s", create=True) as session:
            await session.send("go")
            result = await session.wait()
            state = session.state
        sent = [request.body for request in server.received]
    assert result.text == f"done {EMOJI}"
    for line in lines_of(folder / "s"):
        strict(line)
    encode_state(state).decode("utf-8")
    for body in sent:
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    # All later requests are made of the cleaned text.
    told = state.history[2].results[0]
    assert sent[1]["messages"][2]["content"] == told.content
    assert digest(told.arguments) == digest(told.arguments.encode("utf-8").decode())
    if arguments != "{}":
        assert got == [f"a{MARK}b"]
        assert json.loads(told.arguments) == {"path": f"a{MARK}b"}
        allowed = next(each for each in await journalled(store, "s") if type(each).__name__ == "PolicyAllowed")
        assert allowed.digest == digest(told.arguments)
    return told.content


@pytest.mark.anyio
@pytest.mark.req("R-242", "G-13", "R-200")
async def test_half_a_character_in_a_result_is_replaced_and_a_whole_one_is_not(tmp_path):
    assert await check(tmp_path / "one", f"abc{LONE}") == f"abc{MARK}"
    assert await check(tmp_path / "two", f"abc{EMOJI}") == f"abc{EMOJI}"
    # Two halves that belong together are one character.
    assert await check(tmp_path / "three", "abc\ud83d\ude00") == f"abc{EMOJI}"


@pytest.mark.anyio
@pytest.mark.req("R-111", "G-6")
async def test_half_a_character_in_arguments_is_replaced_before_they_are_allowed(tmp_path):
    assert await check(tmp_path, "ok", arguments='{"path": "a\\ud99cb"}') == "ok"


async def check_cut(folder: Path, output_max: int) -> None:
    told = await check(folder, LONG, output_max=output_max)
    assert not any("\ud800" <= letter <= "\udfff" for letter in told)
    assert MARK not in told
    assert "characters left out" in told


@pytest.mark.anyio
@pytest.mark.parametrize("output_max", range(2, 24))
@pytest.mark.req("G-13")
async def test_a_cut_never_leaves_half_a_character(tmp_path, output_max):
    await check_cut(tmp_path, output_max)


@pytest.mark.anyio
async def test_results_that_are_taken_as_they_come_are_found_out(tmp_path):
    def as_it_comes(text: str) -> str:
        return text

    with patched((results, "clean_text", as_it_comes), (toolbox, "clean_text", as_it_comes)):
        await fails_async(check_result, tmp_path)


async def check_result(folder: Path) -> None:
    """The result reaches the model: an engine that cannot store it loses it."""
    assert await check(folder, f"abc{LONE}") == f"abc{MARK}"


@pytest.mark.anyio
async def test_a_cut_between_code_units_is_found_out(tmp_path):
    def by_code_units(text: str, limit: int, where: str = ""):
        half = text.encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "replace")
        return Cut(f"{half} [characters left out]", 1)

    with patched((toolbox, "bounded", by_code_units)):
        await fails_async(check_cut, tmp_path, 10)


# ---- an old log


async def check_old_log(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "one")
    agent = Agent(model=ScriptedModel([Say("first")]), store=store)
    async with agent.open("s", create=True) as session:
        await session.send("hello")
        await session.wait()
    image = crash_image(tmp_path / "one", tmp_path / "two")
    segment = image / "s" / "segment-000001.ndjson"
    lines = segment.read_bytes().split(b"\n")
    place = next(number for number, line in enumerate(lines) if b"model-replied" in line)
    payload = lines[place][lines[place].index(b'"event":') + 8 : -len(b',"crc":"00000000"}')]
    seq = int(lines[place].split(b",")[0].partition(b":")[2])
    old = payload.replace(b'"first"', b'"fir\\ud83dst"')
    assert old != payload
    lines[place] = event_line(seq, old).rstrip(b"\n")
    segment.write_bytes(b"\n".join(lines))
    for snapshot in (image / "s").glob("snapshot-*"):
        snapshot.unlink()

    state = await read_state(FileStore(image), "s")
    assert state.history[1].text == f"fir{MARK}st"
    encode_state(state).decode("utf-8")
    with serving(DONE) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), store=FileStore(image))
        async with agent.open("s") as session:
            await session.send("and now?")
            assert (await session.wait()).text == f"done {EMOJI}"
        assert server.received[0].body["messages"][1]["content"] == f"fir{MARK}st"


@pytest.mark.anyio
@pytest.mark.req("R-198", "R-190", "R-203")
async def test_an_old_line_with_half_a_character_loads_and_is_cleaned_on_the_way_out(tmp_path):
    await check_old_log(tmp_path)


@pytest.mark.anyio
async def test_a_reader_that_refuses_an_old_line_is_found_out(tmp_path):
    def as_it_is(text: str) -> str:
        return text

    with patched((parsing, "clean_text", as_it_is)):
        await fails_async(check_old_log, tmp_path)


# ---- the doors of a host


@pytest.mark.anyio
@pytest.mark.req("R-047", "R-180")
async def test_what_a_host_hands_over_is_cleaned_or_refused_and_the_session_goes_on():
    model = ScriptedModel([Say("one"), Say("two")])
    async with Agent(model=model).open("s", create=True) as session:
        await session.send(f"abc{LONE}")
        await session.wait()
        for hand_over in (
            lambda: session.send([TextPart(f"abc{LONE}")]),
            lambda: session.import_history([UserMessage("m", MessageSource.PROMPT, (TextPart(LONE),))]),
        ):
            with pytest.raises(EncodeError, match="half a surrogate pair"):
                await hand_over()
        await session.send(f"def{LONE}")
        assert (await session.wait()).text == "two"
        said = [message.parts[0].text for message in session.state.history]
    assert said == [f"abc{MARK}", "one", f"def{MARK}", "two"]


def check_evidence() -> None:
    """In the core alone: a rejected text of the model is previewed without half characters."""
    case = Case(contract("read", Effect.PURE), limits=Limits())
    case.prompt()
    case.reply(call("read", "c1", raw='["' + "x" * 799 + EMOJI + '"]'))
    content = case.results[0].content
    content.encode("utf-8")
    assert MARK not in content
    strict(encode_state(case.state))
    json.dumps(encode_chat(case.view(), "m"), ensure_ascii=False).encode("utf-8")


def test_a_preview_never_shows_half_a_character():
    check_evidence()


def test_a_preview_by_code_units_is_found_out():
    def by_code_units(text: str) -> str:
        return text.encode("utf-16-le")[: 2 * 802].decode("utf-16-le", "replace")

    with patched((reply, "preview", by_code_units)):
        fails(check_evidence)


def test_an_event_with_half_a_character_is_never_written():
    event = ToolSucceeded(at=0, call_id="1.1.0", epoch=0, attempt=1, result=LONE)
    with pytest.raises(EncodeError, match="clean the text first"):
        encode_event(event)
    replied = ModelReplied(at=0, request_id="1.1", epoch=0, attempt=1, parts=(TextPart(OTHER),))
    with pytest.raises(EncodeError):
        encode_event(replied)
    line = encode_event(ModelReplied(at=0, request_id="1.1", epoch=0, attempt=1, parts=(TextPart("x"),)))
    assert decode_event(line.replace(b'"x"', b'"\\ud99c"')).parts == (TextPart(MARK),)
