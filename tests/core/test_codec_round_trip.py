"""What is written is read back: the same value, of the same classes, with the same structure."""

from __future__ import annotations

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import codec
from agentcore.commands import COMMANDS
from agentcore.events import EVENTS
from agentcore.messages import CHUNK, History, IdSet, MessageSource, TextPart, UserMessage
from agentcore.policy import Config
from agentcore.rejections import Rejection
from agentcore.states import PHASES, Because, Call, Idle, State, Transition
from tests.core.codec_values import same, values

CALLS = tuple[Call, ...]
IDLE = Idle(Transition(Because.SESSION_STARTED))


def said(number: int) -> UserMessage:
    return UserMessage(f"m{number}", MessageSource.PROMPT, (TextPart("hé"),))


@pytest.mark.parametrize("kind", EVENTS)
@given(data=st.data())
def test_every_event_is_read_back_as_it_was(kind, data):
    event = data.draw(values(kind))
    line = codec.encode_event(event)
    assert same(codec.decode_event(line), event)
    assert b"\n" not in line
    assert codec.encode_event(codec.decode_event(line)) == line


@pytest.mark.parametrize("kind", COMMANDS)
@given(data=st.data())
def test_every_command_is_read_back_as_it_was(kind, data):
    command = data.draw(values(kind))
    assert same(codec.decode_command(codec.encode_command(command)), command)


@pytest.mark.parametrize("kind", PHASES)
@given(data=st.data())
def test_every_state_is_read_back_as_it_was(kind, data):
    state = State("s", data.draw(values(Config)), data.draw(values(kind)), register=data.draw(values(CALLS)))
    assert same(codec.decode_state(codec.encode_state(state)), state)


@given(state=values(State))
def test_a_whole_state_is_read_back_as_it_was(state):
    assert same(codec.decode_state(codec.encode_state(state)), state)


@given(header=values(codec.Header).filter(lambda made: made.schema <= codec.SCHEMA))
def test_a_header_gives_back_the_arguments_of_start(header):
    assert same(codec.decode_header(codec.encode_header(header)), header)


@given(rejection=values(Rejection))
def test_a_rejection_is_read_back_as_it_was(rejection):
    assert same(codec.decode_rejection(codec.encode_rejection(rejection)), rejection)


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_a_history_keeps_its_chunks(count):
    history = History().append(*(said(number) for number in range(count)))
    found = codec.decode_state(codec.encode_state(State("s", Config(), IDLE, history=history))).history
    assert (found.chunks, found.tail) == (history.chunks, history.tail)


def test_a_history_stands_on_disk_as_the_list_of_its_messages():
    history = History().append(*(said(number) for number in range(CHUNK + 1)))
    written = json.loads(codec.encode_state(State("s", Config(), IDLE, history=history)))["history"]
    assert [message["message_id"] for message in written] == [f"m{number}" for number in range(CHUNK + 1)]


def test_an_id_set_keeps_its_levels_and_is_written_in_order():
    ids = [f"id-{number}" for number in range(11)]
    known, again = (reduce(IdSet.add, order, IdSet()) for order in (ids, [*ids[7::-1], *ids[8:]]))
    found = codec.decode_state(codec.encode_state(State("s", Config(), IDLE, known=known))).known
    assert found.levels == known.levels
    assert len(known.levels) == 3
    assert codec.encode_state(State("s", Config(), IDLE, known=known)) == codec.encode_state(
        State("s", Config(), IDLE, known=again)
    )
