"""Sessions that are not there, not free, not readable: what is said, that nothing is changed, and how it goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcore.codec import EncodeError
from interpreters import (
    JournalUnreadable,
    SessionExists,
    SessionLocked,
    SessionUnknown,
    StoreError,
)
from interpreters.engine import read_state
from interpreters.stores.lines import seal, unseal
from tests.bad_input.sessions import Say, agent, answers, contents, goes_on

TOP = Path(__file__).resolve().parents[2]
FIRST = "segment-000001.ndjson"


async def one_turn(place: Path, session_id: str = "s") -> bytes:
    """Make a session with one turn in it; return its journal."""
    async with agent(place, Say("the first answer")).open(session_id, create=True) as session:
        await session.send("go")
        await session.wait()
    return (place / session_id / FIRST).read_bytes()


async def refused(place: Path, session_id: str = "s", **more) -> str:
    """Try to open it and say why that is refused; what is there stays as it is."""
    before = contents(place)
    with pytest.raises((StoreError, JournalUnreadable, EncodeError)) as caught:
        async with agent(place).open(session_id, **more):
            pass
    assert contents(place) == before
    return str(caught.value)


@pytest.mark.anyio
@pytest.mark.req("R-191")
async def test_an_unknown_session_is_named_with_the_place_where_it_was_looked_for(tmp_path):
    assert (
        await refused(tmp_path, "gone") == f"there is no session 'gone' in {tmp_path}; list the sessions, or create it."
    )
    with pytest.raises(SessionUnknown):
        await agent(tmp_path).run("go", session_id="gone")
    assert list(tmp_path.iterdir()) == []
    async with agent(tmp_path).open("gone", create=True):
        pass
    await goes_on(tmp_path, "gone")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["../outside", "a/b", "", ".hidden", "x" * 101, "a\nb", "\ud800", "CON:", "ä"])
async def test_a_name_that_could_be_a_path_is_refused_before_anything_is_touched(tmp_path, name):
    place = tmp_path / "store"
    place.mkdir()
    for create in (False, True):
        said = await refused(place, name, create=create)
        assert "is not a safe name: give 1 to 100 of" in said or "cannot write $.session_id: half a surrogate" in said
    assert list(tmp_path.rglob("*")) == [place]


@pytest.mark.anyio
async def test_a_name_that_is_taken_is_not_taken_over(tmp_path):
    await one_turn(tmp_path)
    with pytest.raises(SessionExists, match=r"'s' exists already in .*; open it, or choose another id"):
        async with agent(tmp_path).open("s", create=True):
            pass
    await goes_on(tmp_path, "s")


HOLDER = """
import sys, anyio
from tests.bad_input.sessions import agent

async def main():
    async with agent(sys.argv[1]).open("s"):
        print("held", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def held(place: Path) -> subprocess.Popen[str]:
    """Another process that has the session open."""
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.anyio
async def test_a_locked_session_says_which_process_has_it_and_is_free_when_that_is_gone(tmp_path):
    await one_turn(tmp_path)
    with held(tmp_path) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(SessionLocked) as caught:
                async with agent(tmp_path).open("s"):
                    pass
            told = rf"session 's' is locked by process {other.pid} on \S+ since \S+Z; close it there, or read it .*"
            assert re.fullmatch(told, str(caught.value))
            assert answers(await read_state(agent(tmp_path).store, "s")) == ["the first answer"]
        finally:
            other.send_signal(signal.SIGKILL)
    await goes_on(tmp_path, "s")


@pytest.mark.anyio
async def test_a_session_that_this_process_has_open_is_locked_as_well(tmp_path):
    await one_turn(tmp_path)
    async with agent(tmp_path).open("s"):
        with pytest.raises(SessionLocked, match=f"locked by process {os.getpid()} on"):
            async with agent(tmp_path).open("s"):
                pass
    await goes_on(tmp_path, "s")


def resealed(journal: bytes, old: bytes, new: bytes) -> bytes:
    """The journal of another version: a change in every line where it fits, checksums renewed."""
    bodies = [unseal(line) for line in journal.split(b"\n")[:-1]]
    return b"".join(seal(body.replace(old, new)) for body in bodies)


NEWER = {
    "schema": (
        b'{"schema":0,',
        b'{"schema":7,',
        f"session 's': {FIRST} has journal schema 7, this version knows up to schema 0; nothing was changed.",
    ),
    "event": (
        b'"prompt-submitted","v":1',
        b'"prompt-submitted","v":9',
        "session 's': event 1 cannot be followed by this version (cannot read $ of prompt-submitted version 9: ",
    ),
    "vocabulary": (
        b'"prompt-submitted"',
        b'"prompt-whispered"',
        "session 's': event 1 cannot be followed by this version (cannot read $.type: expected one of ",
    ),
}
"""What a later version may have changed: in the bytes, here and there, and what is said."""


@pytest.mark.anyio
@pytest.mark.req("R-198")
@pytest.mark.parametrize("what", NEWER)
async def test_what_a_newer_version_wrote_is_refused_and_left_alone(tmp_path, what):
    old, new, told = NEWER[what]
    journal = await one_turn(tmp_path)
    if what == "schema":  # of which the copy of the first line would know better
        (tmp_path / "s" / "header.copy").unlink()
    newer = resealed(journal, old, new)
    assert newer != journal
    (tmp_path / "s" / FIRST).write_bytes(newer)
    for _ in range(2):  # and the lock is given back each time
        said = await refused(tmp_path)
        assert said.startswith(told)
        assert said.lower().endswith("use the version that wrote it, or a newer one.")
    (tmp_path / "s" / FIRST).write_bytes(journal)
    await goes_on(tmp_path, "s")


@pytest.mark.anyio
@pytest.mark.req("R-191", "R-200", "R-202")
async def test_a_damaged_log_opens_read_only_until_somebody_accepts_the_gap(tmp_path):
    journal = await one_turn(tmp_path)
    place = journal.index(b"the first answer")
    hurt = journal[:place] + b"?" + journal[place + 1 :]
    (tmp_path / "s" / FIRST).write_bytes(hurt)
    line = journal.rindex(b"\n", 0, place) + 1
    said = await refused(tmp_path)
    assert said.startswith("session 's' opens read-only. Event ")
    assert f"is the last good one. The journal is damaged ({FIRST} at byte {line}, " in said
    assert said.endswith("Restore the file, or accept the gap.")
    state = await read_state(agent(tmp_path).store, "s")
    assert (state.open, answers(state)) == (True, [])
    await goes_on(tmp_path, "s", accept_gap="ann")
    assert (tmp_path / "s" / FIRST).read_bytes() == hurt
    await goes_on(tmp_path, "s")


@pytest.mark.anyio
@pytest.mark.req("R-191")
async def test_a_damaged_log_that_is_restored_has_lost_nothing(tmp_path):
    journal = await one_turn(tmp_path)
    (tmp_path / "s" / FIRST).write_bytes(b"{" + journal)
    (tmp_path / "s" / "header.copy").unlink()
    assert "cannot be read" in await refused(tmp_path)
    (tmp_path / "s" / FIRST).write_bytes(journal)
    await goes_on(tmp_path, "s")
    assert answers(await read_state(agent(tmp_path).store, "s"))[0] == "the first answer"


@pytest.mark.anyio
async def test_a_store_that_cannot_be_written_says_where_and_why(tmp_path):
    (tmp_path / "store").write_text("this is a file")
    with pytest.raises(StoreError) as caught:
        async with agent(tmp_path / "store").open("s", create=True):
            pass
    assert re.fullmatch(r"storage unavailable: create failed at .*store.*: .*\((EEXIST|ENOTDIR)\)\.", str(caught.value))


def test_a_configuration_that_could_not_be_stored_is_refused_before_there_is_a_session(tmp_path):
    with pytest.raises(ValueError, match=r"cannot write \$.config.instructions: half a surrogate pair at character 5"):
        agent(tmp_path, instructions="Be a \ud83d")
    with pytest.raises(ValueError, match="no policy preset 'lax'; there are: recommended, strict"):
        agent(tmp_path, policy="lax")
    assert list(tmp_path.iterdir()) == []
