"""A root cannot be left: not by names, not by links, not by a race."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from interpreters.tools import ToolDefinitionError, ToolError
from interpreters.tools.root import Root


@pytest.fixture
def tree(tmp_path):
    """A root with a file and a directory in it, and a secret beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret")
    (tmp_path / "root/docs").mkdir(parents=True)
    (tmp_path / "root/docs/page.txt").write_text("page")
    return tmp_path / "root"


def read(root, path):
    with root.file(root.parts(path)) as descriptor:
        return os.read(descriptor, 1000)


@pytest.mark.parametrize("path", ["docs/page.txt", "./docs//page.txt", "docs/./page.txt"])
def test_a_path_inside_is_walked(tree, path):
    assert read(Root(tree), path) == b"page"


def test_an_absolute_path_inside_is_taken(tree):
    assert read(Root(tree), str(tree / "docs/page.txt")) == b"page"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("../outside/secret.txt", "outside"),
        ("docs/../../outside/secret.txt", "outside"),
        ("docs/../docs/page.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("docs/page.txt\0.png", "bad-path"),
        (".agentcore/x", "reserved"),
        ("docs/none.txt", "not-found"),
        ("none/page.txt", "not-found"),
        ("docs", "not-a-file"),
        (".", "not-a-file"),
        ("docs/page.txt/more", "not-a-directory"),
        ("x" * 300, "unreadable"),
    ],
)
def test_any_other_path_is_refused_and_says_what_it_is(tree, path, kind):
    with pytest.raises(ToolError) as error:
        read(Root(tree), path)
    assert error.value.kind == kind


@pytest.mark.parametrize("target", ["../outside/secret.txt", "/etc/passwd", "docs/page.txt", "gone"])
def test_a_link_to_a_file_is_not_followed_wherever_it_leads(tree, target):
    (tree / "link").symlink_to(target)
    with pytest.raises(ToolError, match=f"'link' is a symbolic link to '{target}'"):
        read(Root(tree), "link")


@pytest.mark.parametrize("target", ["../outside", "docs"])
def test_a_link_to_a_directory_is_not_followed_wherever_it_leads(tree, target):
    (tree / "link").symlink_to(target)
    with pytest.raises(ToolError) as error:
        read(Root(tree), "link/secret.txt")
    assert error.value.kind == "link"


def test_a_pipe_is_refused_and_nobody_waits_for_its_other_end(tree):
    os.mkfifo(tree / "pipe")
    with pytest.raises(ToolError, match="'pipe' is a pipe, socket or device, expected a file"):
        read(Root(tree), "pipe")


@pytest.mark.req("R-136")
def test_a_missing_file_is_answered_with_the_names_that_are_there(tree):
    with pytest.raises(ToolError, match=r"there is no 'docs/pag.txt'; did you mean 'page.txt'"):
        read(Root(tree), "docs/pag.txt")
    with pytest.raises(ToolError, match=r"there is no 'docs/zzz'; there are 'page.txt'"):
        read(Root(tree), "docs/zzz")


def test_a_name_with_control_characters_is_shown_and_not_sent(tree):
    (tree / "docs" / "a\x1b[2Jb").write_text("x")
    with pytest.raises(ToolError) as error:
        read(Root(tree), "docs/zzz")
    assert "\x1b" not in str(error.value)
    assert "u001b[2Jb" in str(error.value)


def test_a_directory_that_turns_into_a_link_at_any_moment_never_shows_what_is_outside(tree):
    """One thread swaps the directory for a link to the outside and back, as fast as it can, while the other reads."""
    (tree.parent / "outside/page.txt").write_text("secret")
    done = threading.Event()

    def swap():
        while not done.is_set():
            (tree / "docs").rename(tree / "kept")
            (tree / "docs").symlink_to("../outside")
            (tree / "docs").unlink()
            (tree / "kept").rename(tree / "docs")

    swapper = threading.Thread(target=swap)
    swapper.start()
    root, seen = Root(tree), set()
    try:
        for _ in range(3_000):
            try:
                seen.add(read(root, "docs/page.txt"))
            except ToolError as error:
                seen.add(error.kind)
    finally:
        done.set()
        swapper.join()
    assert b"secret" not in seen
    assert seen <= {b"page", "link", "not-found", "not-a-directory"}


def open_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def test_no_descriptor_is_left_open(tree):
    root = Root(tree)
    before = open_descriptors()
    for path in ["docs/page.txt", "docs/none.txt", "none/x", "docs", "docs/page.txt/more"]:
        for _ in range(3):
            try:
                read(root, path)
            except ToolError:
                continue
    assert open_descriptors() == before


@pytest.mark.parametrize("name", ["none", "root/docs/page.txt"])
def test_a_root_that_is_no_directory_is_refused(tree, name):
    with pytest.raises(ToolDefinitionError, match="create it, or name another one"):
        Root(tree.parent / name)
