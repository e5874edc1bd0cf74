"""The story of the demonstration: real files, tools that touch them, and a model that follows a script.

The tool that acts is ``add_line``: it appends one line to ``ledger.txt`` and does nothing else, so the lines of that
file *are* the deeds, and anybody can count them. It is fenceable, by the same mechanism as ``write_file``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import attrs

from agentcore.commands import RequestModel
from agentcore.messages import AssistantMessage, ToolMessage
from agentcore.projections import RequestView
from interpreters.scripted import Ask, ModelReply, Say, ScriptedModel
from interpreters.support import osio
from interpreters.tools import Found, Returned, Tool, ToolContext, file_tools, not_executed, tool
from interpreters.tools.fence import Content, Place, inspect, replace
from interpreters.tools.notes import Notes
from interpreters.tools.root import Root

SESSION = "demo"
"""Id of the session."""
LEDGER = "ledger.txt"
"""The file whose lines are counted."""
TASK = "Book the order in order.txt in the ledger, if we have it in stock."
"""What the scripted model is asked."""

_FILES: Mapping[str, str] = {
    "order.txt": "A-17: 3 lamps, 90 EUR\n",
    "stock.txt": "lamps: 12\nchairs: 4\n",
    LEDGER: "",
}
_PACE_S = 0.02


@attrs.frozen
class Room:
    """Where the demonstration takes place."""

    top: Path
    """Its directory."""

    @property
    def files(self) -> Path:
        """What the tools see."""
        return self.top / "files"

    @property
    def sessions(self) -> Path:
        """Where the journal is."""
        return self.top / "sessions"

    def furnish(self) -> None:
        """Put the files there. ``OSError`` if they exist already."""
        osio.make_directory(self.files)
        for name, content in _FILES.items():
            descriptor = osio.open_new(self.files / name, 0o644)
            osio.write_all(descriptor, content.encode())
            osio.close(descriptor)

    def deeds(self) -> int:
        """Count the lines of the ledger."""
        return osio.read_file(self.files / LEDGER).count(b"\n")


def story_tools(room: Room, *, dies: bool = False, lies: bool = False) -> list[Tool]:
    """Return the tools of the story: ``read_file`` and ``add_line``.

    ``dies``: the process ends itself with SIGKILL right after the line stands in the ledger. ``lies``: the inspection
    says "not executed", whatever it sees.
    """
    reading = [each for each in file_tools(room.files) if each.name == "read_file"]
    return [*reading, _add_line(room, dies=dies, lies=lies)]


def _add_line(room: Room, *, dies: bool, lies: bool) -> Tool:
    root = Root(room.files)
    place = Place(root, Notes(root))

    def look(_: dict[str, Any], context: ToolContext) -> Found:
        if lies:
            return not_executed("(a lie) nothing was found in the ledger", conclusive=True)
        return inspect(place, context.attempt_key)

    @tool(effect="fenceable", inspect=look)
    def add_line(context: ToolContext, line: Annotated[str, "The line"]) -> Returned:
        """Add one line to the ledger."""

        def longer(present: int | None) -> Content:
            before = b"" if present is None else osio.read_all(present)
            if dies:
                # The lock is held and the intent is noted by then: the next rename is the deed.
                osio.POINTS.arm("rename:after")
            return Content(before + " ".join(line.split()).encode() + b"\n", f"added 1 line to {LEDGER}")

        return Returned(replace(place, context.attempt_key, (LEDGER,), longer, create=True).says)

    return add_line


def story_model() -> ScriptedModel:
    """Return a model that follows the script, and takes what it writes from what was read."""
    return ScriptedModel(_reply, by_history=True, pace_s=_PACE_S)


def _reply(view: RequestView, _: RequestModel) -> ModelReply:
    said = sum(isinstance(message, AssistantMessage) for message in view.messages)
    results = list(_results(view))
    if said == 0:
        return Say(
            "I read the order and the stock, both at once.",
            calls=(Ask("read_file", {"path": "order.txt"}), Ask("read_file", {"path": "stock.txt"})),
        )
    if said == 1:
        order = results[0].strip()
        return Say("There are enough lamps, so I book the order.", calls=(Ask("add_line", {"line": order}),))
    return Say(f"The order is booked: {results[-1]}.")


def _results(view: RequestView) -> Iterable[str]:
    for message in view.messages:
        if isinstance(message, ToolMessage):
            yield from (result.content for result in message.results)
