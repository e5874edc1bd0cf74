"""Tools that only read: one file, a list of files, a search through them.

The search takes plain text, or a regular expression of the kind that cannot be kept busy.
"""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

import attrs

from interpreters.support import osio
from interpreters.support.cleaning import shortened
from interpreters.support.matching import linear_search
from interpreters.tools.context import ToolContext
from interpreters.tools.definition import Tool, tool
from interpreters.tools.errors import ToolError
from interpreters.tools.root import RESERVED, Root

READ_BYTES_MAX = 64_000_000
"""Larger files are not read."""
SEARCHED_BYTES_MAX = 8_000_000
"""Larger files are left out of a search."""
LISTED_MAX = 1_000
"""So many names are listed at once."""
FOUND_MAX = 200
"""So many lines a search shows."""

_LINES_MAX = 2_000
_LINE_MAX = 400
_WALKED_MAX = 50_000
_BINARY_SNIFF = 4096


def reading_tools(root: Root) -> tuple[Tool, ...]:
    """Return the tools that read inside a root."""

    @tool(name="read_file", effect="pure")
    def read_file(
        path: Annotated[str, "Path inside the working directory"],
        first_line: Annotated[int, "First line to show, counted from 1"] = 1,
        lines: Annotated[int, "How many lines to show at most"] = _LINES_MAX,
    ) -> str:
        """Read a text file. Lines are shown as they are; what is left out is said."""
        return _read(root, path, first_line, lines)

    @tool(name="list_files", effect="pure")
    def list_files(
        *,
        path: Annotated[str, "Directory inside the working directory"] = ".",
        pattern: Annotated[str, "Glob for the paths below it, such as *.py; * also matches slashes"] = "*",
        recursive: Annotated[bool, "Whether to list what is in directories below it too"] = False,
    ) -> str:
        """List files and directories. Directories end in a slash; symbolic links are named and not followed."""
        return _list(root, path, pattern, recursive=recursive)

    @tool(name="search_files", effect="pure")
    def search_files(
        context: ToolContext,
        *,
        text: Annotated[str, "What to look for in each line"],
        path: Annotated[str, "File or directory to search, inside the working directory"] = ".",
        pattern: Annotated[str, "Glob for the paths to search, such as *.py; * also matches slashes"] = "*",
        regex: Annotated[bool, "Take text as a regular expression, without look-around and back-references"] = False,
        ignore_case: Annotated[bool, "Take upper and lower case as the same"] = False,
    ) -> str:
        """Search the lines of text files. Each finding is one line: path, line number, text."""
        matches = _matcher(text, regex=regex, ignore_case=ignore_case)
        return _search(context, root, path, pattern, matches)

    return read_file, list_files, search_files


def text_in(descriptor: int, limit: int) -> str:
    """Return the text of an open file; ``ToolError`` if it is larger than ``limit`` bytes or not text."""
    size = osio.size_of(descriptor)
    if size > limit:
        raise ToolError(f"the file has {size} bytes, more than the {limit} that can be read", kind="too-large")
    data = osio.read_all(descriptor)
    if b"\0" in data[:_BINARY_SNIFF]:
        raise ToolError(f"the file is not text ({size} bytes)", kind="not-text")
    return data.decode("utf-8", "replace")


def _read(root: Root, path: str, first_line: int, count: int) -> str:
    if first_line < 1 or count < 1:
        raise ToolError("first_line and lines are counted from 1")
    with root.file(root.parts(path)) as descriptor:
        lines = text_in(descriptor, READ_BYTES_MAX).split("\n")
    total = len(lines) - (lines[-1] == "")
    if first_line > max(total, 1):
        raise ToolError(f"the file has {total} lines, there is no line {first_line}")
    shown = lines[first_line - 1 : first_line - 1 + count]
    last = first_line - 1 + len(shown)
    if first_line == 1 and last >= total:
        return "\n".join(lines)
    return "\n".join(shown) + f"\n[lines {first_line} to {min(last, total)} of {total}]"


@attrs.frozen
class _Named:
    """One thing below a directory."""

    parts: tuple[str, ...]
    """Its path from the root."""
    kind: str
    """As ``osio.Entry``."""

    @property
    def path(self) -> str:
        """Its path as text."""
        return "/".join(self.parts)


def _below(root: Root, parts: tuple[str, ...], *, recursive: bool) -> Iterator[_Named]:
    """Walk in order of names, and say so where there is too much of it.

    What disappears or cannot be opened on the way is passed over.
    """
    waiting = [iter(_entries(root, parts))]
    walked = 0
    while waiting:
        named = next(waiting[-1], None)
        if named is None:
            waiting.pop()
            continue
        walked += 1
        if walked > _WALKED_MAX:
            yield _Named((f"[stopped after {_WALKED_MAX} names: take a directory below]",), _CUT)
            return
        yield named
        if recursive and named.kind == "directory":
            with contextlib.suppress(ToolError, OSError):
                waiting.append(iter(_entries(root, named.parts)))


def _entries(root: Root, parts: tuple[str, ...]) -> list[_Named]:
    with root.directory(parts) as descriptor:
        entries = osio.entries(descriptor)
    return [_Named((*parts, entry.name), entry.kind) for entry in entries if parts or entry.name != RESERVED]


def _list(root: Root, path: str, pattern: str, *, recursive: bool) -> str:
    parts = root.parts(path)
    shown: list[str] = []
    more = 0
    for named in _below(root, parts, recursive=recursive):
        if named.kind != _CUT and not _fits(named, parts, pattern):
            continue
        if len(shown) < LISTED_MAX or named.kind == _CUT:
            shown.append(named.path + _MARKS[named.kind])
        else:
            more += 1
    if more:
        shown.append(f"[and {more} more: list a directory below, or use a pattern]")
    return "\n".join(shown) or "[nothing]"


def _fits(named: _Named, below: tuple[str, ...], pattern: str) -> bool:
    return fnmatch.fnmatchcase("/".join(named.parts[len(below) :]), pattern)


_CUT = "cut"
_MARKS: Mapping[str, str] = {
    "file": "",
    "directory": "/",
    "link": " -> (symbolic link)",
    "other": " (not a file)",
    _CUT: "",
}


def _matcher(text: str, *, regex: bool, ignore_case: bool) -> Callable[[str], bool]:
    if not text:
        raise ToolError("text is empty: say what to look for")
    if not regex:
        wanted = text.casefold()
        return (lambda line: wanted in line.casefold()) if ignore_case else (lambda line: text in line)
    try:
        return linear_search(text, ignore_case=ignore_case)
    except ValueError as error:
        raise ToolError(f"{error}; use a simpler one, or plain text with regex=false") from error


def _search(context: ToolContext, root: Root, path: str, pattern: str, matches: Callable[[str], bool]) -> str:
    found: list[str] = []
    skipped = 0
    for named in _files(root, root.parts(path), pattern):
        if context.cancel_requested or len(found) > FOUND_MAX:
            break
        if named.kind == _CUT:
            found.append(named.path)
            continue
        try:
            with root.file(named.parts) as descriptor:
                text = text_in(descriptor, SEARCHED_BYTES_MAX)
        except (ToolError, OSError):
            skipped += 1
            continue
        lines = enumerate(text.split("\n"), 1)
        found += [f"{named.path}:{at}: {shortened(line, _LINE_MAX)}" for at, line in lines if matches(line)]
    if len(found) > FOUND_MAX:
        found[FOUND_MAX:] = [f"[more than {FOUND_MAX} lines: search a smaller part, or for something rarer]"]
    if skipped:
        found.append(f"[{skipped} files left out: not text, too large, or not readable]")
    return "\n".join(found) or "[nothing found]"


def _files(root: Root, parts: tuple[str, ...], pattern: str) -> Iterator[_Named]:
    if parts:
        with root.directory(parts[:-1]) as inside:
            kind = next((each.kind for each in osio.entries(inside) if each.name == parts[-1]), "")
        if kind == "file":
            yield _Named(parts, kind)
            return
    for named in _below(root, parts, recursive=True):
        if named.kind == _CUT or (named.kind == "file" and _fits(named, parts, pattern)):
            yield named
