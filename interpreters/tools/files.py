"""The tools for files, made for one directory."""

from __future__ import annotations

from pathlib import Path

from interpreters.support import osio
from interpreters.tools.definition import Tool
from interpreters.tools.fence import Place
from interpreters.tools.notes import Notes
from interpreters.tools.reading import reading_tools
from interpreters.tools.root import Root
from interpreters.tools.writing import writing_tools


def file_tools(root: Path | str, *, notes: Path | str | None = None) -> tuple[Tool, ...]:
    """Return ``read_file``, ``list_files``, ``search_files``, ``write_file`` and ``edit_file`` for a directory.

    None of them leaves ``root``. The notes by which an interrupted write is found out afterwards lie in ``.agentcore``
    inside it, or in the directory ``notes``, which is made if it is missing. All processes that may write, or inspect,
    the same files must use the same directory of notes. ``ToolDefinitionError`` if ``root`` is no directory.
    """
    tree = Root(root)
    return (*reading_tools(tree), *writing_tools(Place(tree, _notes(tree, notes))))


def _notes(tree: Root, notes: Path | str | None) -> Notes:
    if notes is None:
        return Notes(tree)
    osio.make_directory(Path(notes))
    return Notes(Root(notes), own=True)
