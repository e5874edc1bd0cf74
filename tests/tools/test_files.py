"""The file tools, as a model uses them."""

from __future__ import annotations

import stat
import threading

import pytest

from agentcore.events import Finding, ToolFailed, ToolSucceeded
from interpreters.support import osio
from interpreters.tools import Sink, Toolbox, ToolContext, ToolError, file_tools, reading, writing
from interpreters.tools.reading import FOUND_MAX, LISTED_MAX, SEARCHED_BYTES_MAX
from tests.tools.orders import SESSION, call_of, execute_order, inspect_order


@pytest.fixture
def root(tmp_path):
    """A small tree."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("import os\n\ndef first():\n    return 1\n")
    (tmp_path / "src/b.py").write_text("def second():\n    return first()\n")
    (tmp_path / "notes.md").write_text("Buy milk\nbuy bread\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\0\0")
    return tmp_path


@pytest.fixture
def use(root):
    """Call a file tool by name, each time in an attempt of its own."""
    tools = {each.name: each for each in file_tools(root)}
    attempts = iter(range(1, 1_000))

    def call(tool_name, **arguments):
        tool = tools[tool_name]
        context = ToolContext("s", "1.1.0", (0, next(attempts)))
        value = tool.function(**tool.bind(arguments, context))
        return value if isinstance(value, str) else value.value

    return call


def test_a_file_is_read_as_it_is(use):
    assert use("read_file", path="notes.md") == "Buy milk\nbuy bread\n"


def test_some_lines_are_read_and_which_is_said(use):
    text = use("read_file", path="src/a.py", first_line=3, lines=1)
    assert text == "def first():\n[lines 3 to 3 of 4]"


@pytest.mark.parametrize("first_line", [0, 99])
def test_lines_that_are_not_there_are_refused(use, first_line):
    with pytest.raises(ToolError):
        use("read_file", path="src/a.py", first_line=first_line)


def test_a_file_that_is_no_text_is_refused(use):
    with pytest.raises(ToolError, match=r"not text \(6 bytes\)"):
        use("read_file", path="picture")


def test_a_file_that_is_too_large_is_refused_unread(use, root):
    with (root / "huge").open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(ToolError, match="200000000 bytes, more than"):
        use("read_file", path="huge")


def test_an_empty_file_is_empty(use, root):
    (root / "empty").write_text("")
    assert use("read_file", path="empty") == ""


def test_bytes_that_are_no_text_are_replaced(use, root):
    (root / "latin").write_bytes(b"caf\xe9\n")
    assert use("read_file", path="latin") == "caf\N{REPLACEMENT CHARACTER}\n"


def test_files_are_listed_in_order_with_what_they_are(use, root):
    (root / "link").symlink_to("notes.md")
    use("write_file", path="new.txt", content="x")  # leaves its note in the reserved directory
    assert use("list_files") == "link -> (symbolic link)\nnew.txt\nnotes.md\npicture\nsrc/"


def test_files_below_are_listed_by_pattern(use):
    assert use("list_files", recursive=True, pattern="*.py") == "src/a.py\nsrc/b.py"


def test_a_link_is_never_walked_into(use, root):
    (root / "src/up").symlink_to("..")
    assert use("list_files", recursive=True, pattern="*up*") == "src/up -> (symbolic link)"


def test_a_long_list_is_cut_and_that_is_said(use, root):
    (root / "many").mkdir()
    for number in range(LISTED_MAX + 5):
        (root / "many" / f"{number:05}").touch()
    lines = use("list_files", path="many").split("\n")
    assert len(lines) == LISTED_MAX + 1
    assert lines[-1] == "[and 5 more: list a directory below, or use a pattern]"


def test_a_search_finds_plain_text_with_place(use):
    lines = use("search_files", text="first()").split("\n")
    assert lines[:2] == ["src/a.py:3: def first():", "src/b.py:2:     return first()"]
    assert lines[2:] == ["[1 files left out: not text, too large, or not readable]"]


def test_a_search_can_be_narrowed_and_need_not_mind_case(use):
    assert (
        use("search_files", text="BUY", ignore_case=True, pattern="*.md")
        == "notes.md:1: Buy milk\nnotes.md:2: buy bread"
    )
    assert use("search_files", text="def", path="src/b.py") == "src/b.py:1: def second():"
    assert use("search_files", text="none such", path="src") == "[nothing found]"


@pytest.mark.parametrize(
    ("pattern", "ignore_case", "found"),
    [
        (r"^def \w+\(", False, ["src/a.py:3: def first():", "src/b.py:1: def second():"]),
        (r"RETURN\s+\d", True, ["src/a.py:4:     return 1"]),
    ],
)
def test_a_search_takes_a_regular_expression(use, pattern, ignore_case, found):
    assert use("search_files", text=pattern, path="src", regex=True, ignore_case=ignore_case).split("\n") == found


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"a*a*a*a*a*a*a*b"])
def test_no_regular_expression_can_keep_the_search_busy(use, root, pattern):
    (root / "trap").write_text("a" * 100_000 + "!\n")
    assert use("search_files", text=pattern, path="trap", regex=True) == "[nothing found]"


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)"])
def test_a_regular_expression_that_cannot_be_matched_in_time_is_refused(use, pattern):
    with pytest.raises(ToolError, match="look-around and back-references are not supported"):
        use("search_files", text=pattern, regex=True)


def test_too_many_findings_are_cut_and_that_is_said(use, root):
    (root / "log").write_text("hit\n" * 1_000)
    lines = use("search_files", text="hit", path="log").split("\n")
    assert len(lines) == FOUND_MAX + 1
    assert lines[-1].startswith(f"[more than {FOUND_MAX} lines")


def test_a_walk_without_end_is_stopped_and_that_is_said(use, monkeypatch):
    monkeypatch.setattr(reading, "_WALKED_MAX", 2)
    assert use("list_files") == "notes.md\npicture\n[stopped after 2 names: take a directory below]"
    assert use("search_files", text="milk").split("\n")[1] == "[stopped after 2 names: take a directory below]"


def test_a_search_for_nothing_is_refused(use):
    with pytest.raises(ToolError, match="say what to look for"):
        use("search_files", text="")


@pytest.mark.req("R-175")
def test_a_search_that_nobody_waits_for_any_more_ends(root):
    class Told(Sink):
        cancel_requested = True

    search = next(each for each in file_tools(root) if each.name == "search_files")
    assert search.function(ToolContext("s", "1.1.0", sink=Told()), text="milk") == "[nothing found]"


def test_a_directory_that_cannot_be_read_is_passed_over(use, monkeypatch):
    real = osio.entries

    def guarded(descriptor):
        found = real(descriptor)
        if any(entry.name == "a.py" for entry in found):
            raise PermissionError(13, "Permission denied")
        return found

    monkeypatch.setattr(osio, "entries", guarded)
    assert use("list_files", recursive=True) == "notes.md\npicture\nsrc/"


def test_a_tree_that_is_very_deep_is_walked(use, root):
    at = root
    for _ in range(60):
        at /= "d" * 20
    at.mkdir(parents=True)
    (at / "deep.txt").write_text("needle")
    assert use("search_files", text="needle").endswith(
        "deep.txt:1: needle\n[1 files left out: not text, too large, or not readable]"
    )


def test_a_large_file_is_left_out_of_a_search_and_that_is_said(use, root):
    (root / "large").write_bytes(b"x" * (SEARCHED_BYTES_MAX + 1))
    assert use("search_files", text="x", path="large").startswith("[1 files left out")


def test_a_file_is_written_with_the_directories_it_needs(use, root):
    assert use("write_file", path="new/deep/file.txt", content="hä\n") == "created new/deep/file.txt, 4 bytes"
    assert (root / "new/deep/file.txt").read_bytes() == "hä\n".encode()


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(use, root):
    (root / "notes.md").chmod(0o751)
    assert use("write_file", path="notes.md", content="") == "replaced notes.md, 0 bytes"
    assert stat.S_IMODE((root / "notes.md").stat().st_mode) == 0o751


def test_a_lone_surrogate_is_written_as_a_question_mark(use, root):
    use("write_file", path="odd", content="a\ud800b")
    assert (root / "odd").read_bytes() == b"a?b"


def test_a_reader_of_a_file_that_is_being_replaced_sees_the_old_or_the_new(use, root):
    done, seen = threading.Event(), set()

    def watch():
        while not done.is_set():
            seen.add((root / "notes.md").read_text()[:1] + str(len((root / "notes.md").read_text()) % 7))

    (root / "notes.md").write_text("a" * 70_000)
    watcher = threading.Thread(target=watch)
    watcher.start()
    for letter in "bababa":
        use("write_file", path="notes.md", content=letter * 70_000)
    done.set()
    watcher.join()
    assert seen <= {"a0", "b0"}


@pytest.mark.parametrize("name", ["link", "links/x", ".", "src", "../x", ".agentcore/x", "notes.md/x"])
def test_what_is_no_file_inside_is_not_written(use, root, name):
    (root / "link").symlink_to("notes.md")
    (root / "links").symlink_to("src")
    with pytest.raises(ToolError):
        use("write_file", path=name, content="x")
    assert (root / "notes.md").read_text() == "Buy milk\nbuy bread\n"
    assert {each.name for each in (root / "src").iterdir()} == {"a.py", "b.py"}


def test_a_piece_of_a_file_is_replaced(use, root):
    assert use("edit_file", path="notes.md", old="milk\nbuy", new="tea\nand") == "edited notes.md, 1 places"
    assert (root / "notes.md").read_text() == "Buy tea\nand bread\n"


def test_bytes_around_an_edit_stay_what_they_are(use, root):
    (root / "mixed").write_bytes(b"\xff\xfe one\r\ntwo\r\n\x00")
    use("edit_file", path="mixed", old="one", new="three")
    assert (root / "mixed").read_bytes() == b"\xff\xfe three\r\ntwo\r\n\x00"


def test_every_occurrence_is_replaced_only_on_demand(use, root):
    with pytest.raises(ToolError, match="occurs 2 times"):
        use("edit_file", path="notes.md", old="uy", new="orrow")
    assert use("edit_file", path="notes.md", old="uy", new="orrow", every=True) == "edited notes.md, 2 places"
    assert (root / "notes.md").read_text() == "Borrow milk\nborrow bread\n"


@pytest.mark.req("R-136")
def test_an_edit_of_text_that_is_not_there_says_where_to_look(use):
    with pytest.raises(ToolError, match="its first line occurs in line 1: read the file"):
        use("edit_file", path="notes.md", old="milk \n  buy", new="x")
    with pytest.raises(ToolError, match="does not occur"):
        use("edit_file", path="notes.md", old="cheese", new="x")


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("same", "same")])
def test_an_edit_that_says_nothing_is_refused(use, old, new):
    with pytest.raises(ToolError, match="say what to replace by what"):
        use("edit_file", path="notes.md", old=old, new=new)


def test_a_file_that_is_too_large_is_not_edited(use, monkeypatch):
    monkeypatch.setattr(writing, "EDITED_BYTES_MAX", 3)
    with pytest.raises(ToolError, match="larger than the 3 bytes"):
        use("edit_file", path="notes.md", old="milk", new="tea")


def test_an_edit_of_a_file_that_is_not_there_is_refused(use, root):
    with pytest.raises(ToolError, match="write it with write_file"):
        use("edit_file", path="none.md", old="a", new="b")
    with pytest.raises(ToolError):
        use("edit_file", path="none/none.md", old="a", new="b")
    assert not (root / "none").exists()


def test_edits_of_one_file_at_the_same_time_all_count(root):
    (root / "counter").write_text("|")
    edit = next(each for each in file_tools(root) if each.name == "edit_file")

    def work(attempt):
        context = ToolContext("s", "1.1.0", (0, attempt))
        edit.function(context, path="counter", old="|", new="x|")

    threads = [threading.Thread(target=work, args=(attempt,)) for attempt in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "counter").read_text() == "xxxxxxxx|"


def test_notes_can_lie_elsewhere(root, tmp_path_factory):
    notes = tmp_path_factory.mktemp("notes") / "new"
    write = next(each for each in file_tools(root, notes=notes) if each.name == "write_file")
    write.function(ToolContext("s", "1.1.0"), path="x", content="y")
    assert not (root / ".agentcore").exists()
    assert len(list(notes.iterdir())) == 2


@pytest.mark.anyio
async def test_the_tools_work_in_a_toolbox(root):
    tools = file_tools(root)
    box = Toolbox(tools)
    by_name = {each.name: each for each in tools}
    event = await box.execute(SESSION, execute_order(), call_of(by_name["write_file"], {"path": "x", "content": "y"}))
    assert isinstance(event, ToolSucceeded)
    assert event.result == "created x, 1 bytes"
    assert event.resource_version == "sha256:a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"
    found = await box.inspect(SESSION, inspect_order(), call_of(by_name["write_file"], {"path": "x", "content": "y"}))
    assert (found.finding, found.result) == (Finding.EXECUTED, "created x, 1 bytes")
    event = await box.execute(SESSION, execute_order(2), call_of(by_name["read_file"], {"path": "none"}, attempt=2))
    assert isinstance(event, ToolFailed)
    assert event.kind == "not-found"
