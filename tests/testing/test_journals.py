"""Journals and collisions: each is what it says, the store reads its lines, and the core bears what fits nothing."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given

import agentcore.testing as harness
from agentcore import reduce
from agentcore.codec import CODEC, SCHEMA, DecodeError
from agentcore.events import EVENTS
from agentcore.projections import ui_status
from agentcore.states import PHASES, RunningTools
from agentcore.testing import lines
from agentcore.testing.lines import Found
from agentcore.testing.passage import all_calls
from agentcore.testing.strategies import (
    COLLISIONS,
    Flaw,
    Session,
    collisions,
    journals,
    roll_collision,
    roll_event,
    roll_journal,
    seeded,
)
from agentcore.testing.strategies.pools import in_phase, pool
from interpreters.stores import lines as stored

FOUND = {
    Flaw.NONE: Found.NOTHING,
    Flaw.UNTERMINATED: Found.NOTHING,
    Flaw.TORN: Found.TORN_TAIL,
    Flaw.DAMAGED: Found.MIDDLE,
    Flaw.MISSING: Found.MIDDLE,
    Flaw.DOUBLED: Found.MIDDLE,
    Flaw.HEADER: Found.HEADER,
    Flaw.NEWER_SCHEMA: Found.NEWER,
    Flaw.NEWER_EVENT: Found.NOTHING,
}


def folded(header, payloads):
    """The session that a header and events give."""
    begun = CODEC.decode_header(header)
    state = harness.CORE.start(begun.session_id, begun.config, begun.at).state
    for payload in payloads:
        state = reduce(state, CODEC.decode_event(payload)).state
    return state


@pytest.mark.parametrize("flaw", Flaw)
def test_a_journal_has_the_flaw_that_it_says_and_reads_back_up_to_it(flaw):
    seen = Counter()

    @given(journal=journals(flaw))
    def holds(journal):
        seen[journal.flaw] += 1
        reading = lines.read(journal.data)
        assert reading.found is FOUND[journal.flaw]
        if reading.found in (Found.HEADER, Found.NEWER):
            assert (reading.header, reading.events, journal.readable) == (b"", (), 0)
            return
        assert len(reading.events) >= journal.readable
        lived = journal.session.journal[: journal.readable]
        assert [CODEC.decode_event(payload) for payload in reading.events[: journal.readable]] == list(lived)
        if journal.flaw in (Flaw.NONE, Flaw.UNTERMINATED):
            assert folded(reading.header, reading.events) == journal.session.state

    holds()
    assert seen[flaw] > 0


def test_an_event_of_a_newer_version_is_whole_and_refused():
    session = next(each for each in pool() if len(each.journal) > 2)
    journal = roll_journal(session, seeded(1), Flaw.NEWER_EVENT)
    payload = lines.read(journal.data).events[journal.readable]
    with pytest.raises(DecodeError, match="99"):
        CODEC.decode_event(payload)


def test_what_lies_behind_a_damage_is_kept_as_evidence():
    session = next(each for each in pool() if len(each.journal) > 5)
    journal = roll_journal(session, seeded(3), Flaw.DAMAGED)
    behind = lines.read(journal.data).behind
    assert [CODEC.decode_event(payload) for payload in behind] == list(session.journal[journal.readable + 1 :])


def test_the_lines_are_those_of_the_file_store():
    header, payload = b'{"a":1}', b'{"type":"x"}'
    assert lines.SCHEMA == SCHEMA == stored.SCHEMA
    assert lines.opening_line("s1", header) == stored.opening_line("s1", 1, stored.First(header))
    assert lines.event_line(7, payload) == stored.event_line(7, payload)
    assert lines.unseal(lines.event_line(7, payload)[:-1]) == b'{"seq":7,"event":{"type":"x"}'


@pytest.mark.parametrize("name", COLLISIONS)
def test_a_collision_breaks_what_it_says_where_there_is_something_to_break(name):
    dice, broken = seeded(4), 0
    for session in in_phase(RunningTools)[::20]:
        broken += roll_collision(session.state, dice, name) != session.state
    assert broken > 10


def test_ids_collide_in_one_batch_and_with_the_register():
    state = next(each.state for each in in_phase(RunningTools))
    twice = roll_collision(state, seeded(1), "calls-share-an-id")
    assert max(Counter(call.call_id for call in twice.batch.calls).values()) > 1
    both = roll_collision(state, seeded(1), "register-repeats")
    assert max(Counter(call.call_id for call in all_calls(both)).values()) > 1


@pytest.mark.req("R-247")
@pytest.mark.parametrize("phase", PHASES)
def test_a_state_that_no_events_lead_to_is_written_shown_and_reduced_without_falling_over(phase):
    dice = seeded(6)

    @given(state=collisions(phase))
    def holds(state):
        assert CODEC.decode_state(CODEC.encode_state(state)) == state
        ui_status(state)
        for _ in range(4):
            event = roll_event(dice.pick(EVENTS), Session(state), dice)
            after, commands = reduce(state, event)
            assert after is not state or len(commands) <= 1

    holds()


def test_what_needs_hypothesis_is_imported_when_it_is_used_and_says_what_brings_it():
    assert {"journals", "values", "SessionMachine"} <= set(harness.__all__)
    assert all(getattr(harness, name) is not None for name in harness.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = harness.nothing
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import agentcore.testing as harness\n"
        "try: harness.journals\n"
        "except ImportError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "agentcore-reducer[testing]" in ran.stdout
