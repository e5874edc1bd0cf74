"""Tools that change a file: each call replaces it as a whole, at most once, and can be asked about afterwards."""

from __future__ import annotations

from typing import Annotated, Any

from interpreters.support import osio
from interpreters.support.cleaning import shortened
from interpreters.tools import fence
from interpreters.tools.context import ToolContext
from interpreters.tools.definition import Tool, tool
from interpreters.tools.errors import ToolError
from interpreters.tools.findings import Found
from interpreters.tools.results import Returned

EDITED_BYTES_MAX = 16_000_000
"""Larger files are not edited."""


def writing_tools(place: fence.Place) -> tuple[Tool, ...]:
    """Return the tools that write inside a root."""

    def inspect(_: dict[str, Any], context: ToolContext) -> Found:
        return fence.inspect(place, context.attempt_key)

    @tool(name="write_file", effect="fenceable", inspect=inspect)
    def write_file(
        context: ToolContext,
        *,
        path: Annotated[str, "Path inside the working directory; missing directories are made"],
        content: Annotated[str, "The whole content"],
    ) -> Returned:
        """Write a text file. A file that is there already is replaced as a whole."""
        return _write(place, context, path, content)

    @tool(name="edit_file", effect="fenceable", inspect=inspect)
    def edit_file(
        context: ToolContext,
        *,
        path: Annotated[str, "Path inside the working directory"],
        old: Annotated[str, "Text that stands in the file, exactly and with its blanks"],
        new: Annotated[str, "Text to put in its place"],
        every: Annotated[bool, "Replace every occurrence; else old must occur exactly once"] = False,
    ) -> Returned:
        """Replace a piece of a text file."""
        return _edit(place, context, path, (old, new), every=every)

    return write_file, edit_file


def _write(place: fence.Place, context: ToolContext, path: str, content: str) -> Returned:
    data = content.encode("utf-8", "replace")
    parts = _file_parts(place, path)

    def make(present: int | None) -> fence.Content:
        did = "created" if present is None else "replaced"
        return fence.Content(data, f"{did} {'/'.join(parts)}, {len(data)} bytes")

    return _returned(fence.replace(place, context.attempt_key, parts, make, create=True))


def _edit(place: fence.Place, context: ToolContext, path: str, pieces: tuple[str, str], *, every: bool) -> Returned:
    old, new = (piece.encode("utf-8", "replace") for piece in pieces)
    parts = _file_parts(place, path)
    if not old or old == new:
        raise ToolError("old is empty or the same as new: say what to replace by what")

    def make(present: int | None) -> fence.Content:
        if present is None:
            raise ToolError(f"there is no file {'/'.join(parts)!r}: write it with write_file", kind="not-found")
        if osio.size_of(present) > EDITED_BYTES_MAX:
            raise ToolError(f"the file is larger than the {EDITED_BYTES_MAX} bytes that can be edited")
        before = osio.read_all(present)
        count = before.count(old)
        _check_count(count, before, pieces[0], every=every)
        return fence.Content(before.replace(old, new), f"edited {'/'.join(parts)}, {count} places")

    return _returned(fence.replace(place, context.attempt_key, parts, make, create=False))


def _check_count(count: int, before: bytes, old: str, *, every: bool) -> None:
    if count == 0:
        first = old.strip().split("\n", 1)[0].strip()
        near = [
            at for at, line in enumerate(before.decode("utf-8", "replace").split("\n"), 1) if first and first in line
        ]
        hint = f"; its first line occurs in line {near[0]}: read the file and copy the text exactly" if near else ""
        raise ToolError(f"old does not occur in the file: {shortened(repr(old), 200)}{hint}", kind="not-found")
    if count > 1 and not every:
        raise ToolError(f"old occurs {count} times: give more of the text around it, or every=true", kind="ambiguous")


def _file_parts(place: fence.Place, path: str) -> tuple[str, ...]:
    parts = place.root.parts(path)
    if not parts:
        raise ToolError("the path names the working directory itself, expected a file")
    return parts


def _returned(written: fence.Written) -> Returned:
    return Returned(written.says, resource_version=f"sha256:{written.version}")
