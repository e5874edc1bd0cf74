"""Tool calls in a chat-completions stream: which piece belongs to which call, whatever the server leaves out."""

from __future__ import annotations

import json

import pytest

from tests.models import wire
from tests.models.byteserver import chunk, events

TOKYO, PARIS = '{"city":"Tokyo"}', '{"city":"Paris"}'


def piece(index=None, id=None, name=None, arguments=None, **extra) -> dict:  # noqa: A002 - the wire calls it so
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = {"index": index, "id": id}
    return {key: value for key, value in fields.items() if value is not None} | {"function": function} | extra


def calls(*lists: list[dict], finish: str = "tool_calls") -> list[tuple[str, object]]:
    """Names and arguments of the calls that lists of pieces make."""
    _, outcome = wire.decode(events(*(chunk({"tool_calls": one}) for one in lists), chunk({}, finish)))
    found = wire.told(outcome.parts)
    assert len(set(found["ids"])) == len(found["ids"])
    assert all(found["ids"])
    return [(name, arguments) for name, arguments in found["tools"]]


ONE = [("weather", {"city": "Tokyo"})]
TWO = [("weather", {"city": "Tokyo"}), ("weather", {"city": "Paris"})]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        pytest.param([[piece(0, "a", "weather", TOKYO)]], ONE, id="whole"),
        pytest.param([[piece(0, "a", "weather", '{"city":')], [piece(0, arguments='"Tokyo"}')]], ONE, id="in pieces"),
        pytest.param([[piece(None, "a", "weather")], [piece(None, None, None, TOKYO)]], ONE, id="no index"),
        pytest.param([[piece(None, "a", "weather")], [piece(None, "a", None, TOKYO)]], ONE, id="no index, known id"),
        pytest.param([[piece(0, "a", "weather")], [piece(None, None, None, TOKYO)]], ONE, id="index only at first"),
        pytest.param([[piece(0, "a", "weather")], [piece(0, "", "", TOKYO)]], ONE, id="empty id and name"),
        pytest.param([[piece(0, None, "weather")], [piece(0, "a", None, TOKYO)]], ONE, id="id comes later"),
        pytest.param([[piece(0, "a", "weather")], [piece(0, None, "weather", TOKYO)]], ONE, id="name repeated"),
        pytest.param([[piece(0, "a", "wea")], [piece(0, "a", "ther", TOKYO)]], ONE, id="name in fragments"),
        pytest.param([[piece(0, "a", "wea")], [piece(0, "a", "weather", TOKYO)]], ONE, id="name grows"),
        pytest.param(
            [[piece(0, "a", "weather", TOKYO)], [piece(0, None, "weather", "")]], ONE, id="name after the end"
        ),
        pytest.param([[piece(0, "a", "weather", {"city": "Tokyo"})]], ONE, id="arguments as an object"),
        pytest.param([[piece(0, "a", "weather", TOKYO), {"index": 1}, "x", None]], ONE, id="entries that say nothing"),
        pytest.param(
            [[piece(0, "a", "weather", TOKYO)], [piece(0, "b", "weather", PARIS)]], TWO, id="one index, two ids"
        ),
        pytest.param(
            [
                [piece(0, "a", "weather", '{"city":"Tok'), piece(0, "b", "weather", '{"city":')],
                [piece(0, "a", None, 'yo"}'), piece(0, "b", None, '"Paris"}')],
            ],
            TWO,
            id="one index, two ids in turn",
        ),
        pytest.param(
            [[piece(0, "a", "weather", TOKYO)], [piece(0, "a", "weather", PARIS)]], TWO, id="index and id alike"
        ),
        pytest.param([[piece(0, "a", "weather", TOKYO)], [piece(0, "a", "weather", TOKYO)]], ONE, id="told twice"),
        pytest.param(
            [
                [piece("0", "a", "weather"), piece("1", "b", "weather")],
                [piece("0", arguments=TOKYO)],
                [piece("1", arguments=PARIS)],
            ],
            TWO,
            id="indexes that are text",
        ),
        pytest.param(
            [[piece(0, "a", "weather", TOKYO), piece(1, "b", "weather", PARIS)]], TWO, id="two calls in one list"
        ),
        pytest.param(
            [[piece(None, None, "weather", TOKYO), piece(None, None, "weather", PARIS)]], TWO, id="only names, one list"
        ),
        pytest.param(
            [[piece(None, None, "weather", TOKYO)], [piece(None, None, "weather", PARIS)]], TWO, id="only names, two"
        ),
        pytest.param(
            [[piece(0, "", "weather", TOKYO)], [piece(0, "", "weather", PARIS)]], TWO, id="one index, empty ids"
        ),
        pytest.param([[piece(0, "a", "weather", TOKYO)], [piece(1, "a", "weather", PARIS)]], TWO, id="one id for two"),
        pytest.param(
            [[piece(None, "a", "weather", TOKYO)], [piece(None, "b", "weather", PARIS)]], TWO, id="ids, no index"
        ),
        pytest.param([[piece(None, None, "now"), piece(None, None, "now")]], [("now", {})] * 2, id="no arguments"),
    ],
)
def test_pieces_become_the_calls_that_were_meant(lists, expected):
    assert calls(*lists) == expected


@pytest.mark.req("G-2")
def test_a_call_that_is_told_twice_word_for_word_is_one_call():
    assert calls([piece(0, "a", "weather", TOKYO)], [piece(1, "a", "weather", TOKYO)]) == ONE


def test_two_equal_calls_with_ids_of_their_own_are_two():
    assert calls([piece(0, "a", "weather", TOKYO)], [piece(1, "b", "weather", TOKYO)]) == ONE * 2


@pytest.mark.parametrize(
    "arguments", ['"Tokyo"', "[1]", '{"a":NaN}', '{"a":1,"a":2}', '{"city":', "nonsense", {"a": float("nan")}]
)
def test_arguments_that_are_no_object_spoil_only_their_own_call(arguments):
    assert calls([piece(0, "a", "bad", arguments), piece(1, "b", "weather", TOKYO)]) == [("bad", None), *ONE]


def test_minted_ids_are_the_same_for_the_same_answer_and_differ_between_answers():
    def minted(answer: str) -> list[str]:
        one = {**chunk({"tool_calls": [piece(0, None, "now", "{}"), piece(1, None, "now", "{}")]}), "id": answer}
        _, outcome = wire.decode(events(one, chunk({}, "tool_calls")))
        return wire.told(outcome.parts)["ids"]

    assert minted("x") == minted("x")
    assert not set(minted("x")) & set(minted("y"))
    assert all(id.isalnum() and len(id) == 9 for id in minted("x"))  # noqa: A001 - the wire calls it so


def test_the_old_function_call_is_a_call_where_there_is_no_other():
    old = chunk({"function_call": {"name": "weather", "arguments": '{"city":'}})
    rest = chunk({"function_call": {"arguments": '"Tokyo"}'}})
    _, outcome = wire.decode(events(old, rest, chunk({}, "function_call")))
    assert wire.told(outcome.parts)["tools"] == [["weather", {"city": "Tokyo"}]]


def test_the_old_function_call_beside_the_new_one_is_not_told_twice():
    both = chunk(
        {
            "function_call": {"name": "weather", "arguments": TOKYO},
            "tool_calls": [piece(0, "a", "weather", TOKYO)],
        }
    )
    _, outcome = wire.decode(events(both, chunk({}, "tool_calls")))
    assert wire.told(outcome.parts)["tools"] == [["weather", {"city": "Tokyo"}]]


def test_calls_that_only_the_whole_message_tells_are_taken_from_it():
    message = {"content": "hi", "tool_calls": [piece(None, "a", "weather", TOKYO)]}
    last = {"choices": [{"index": 0, "delta": {}, "message": message, "finish_reason": "stop"}]}
    _, outcome = wire.decode(events(chunk({"content": "hi"}), last))
    found = wire.told(outcome.parts)
    assert (found["text"], found["tools"]) == ("hi", [["weather", {"city": "Tokyo"}]])


@pytest.mark.req("G-14")
def test_what_a_provider_puts_beside_a_call_is_kept_verbatim():
    signed = piece(0, "a", "weather", TOKYO, extra_content={"google": {"thought_signature": "SIG=="}})
    _, outcome = wire.decode(events(chunk({"tool_calls": [signed]}), chunk({}, "tool_calls")))
    assert json.loads(outcome.parts[0].metadata) == {"extra_content": {"google": {"thought_signature": "SIG=="}}}


def test_a_minted_id_avoids_the_ids_of_the_provider():
    def ids(own: str) -> list[str]:
        pieces = [piece(0, None, "now", "{}"), piece(1, own, "now", "[]")]
        _, outcome = wire.decode(events(chunk({"tool_calls": pieces}), chunk({}, "tool_calls")))
        return wire.told(outcome.parts)["ids"]

    usual = ids("x")[0]
    assert ids(usual)[0] != usual
    assert len(set(ids(usual))) == 2
