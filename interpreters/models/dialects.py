"""What a dialect of the wire is to the decoder: something that folds JSON values into one message.

``chat`` (OpenAI chat-completions) is one; others fit beside it by doing the same.
"""

from __future__ import annotations

from typing import Any, Protocol

from agentcore.messages import Usage
from interpreters.models.assembly import Reply
from interpreters.support.ports_model import ModelDelta


class Folder(Protocol):
    """Takes one answer apart and puts the message together. Raises ``WireFault`` where the answer tells of a fault."""

    @property
    def stated(self) -> bool:
        """Whether the end of the message was stated: by a finish label, or by the terminator."""

    @property
    def terminated(self) -> bool:
        """Whether nothing more can come."""

    @property
    def progress(self) -> int:
        """Grows whenever something of the answer came; pings and empty pieces do not count."""

    @property
    def text(self) -> str:
        """What was said so far."""

    @property
    def usage(self) -> Usage:
        """What is known to have been consumed so far."""

    def fold_event(self, name: str, data: str) -> list[ModelDelta]:
        """Take one server-sent event; return what to show."""

    def fold_body(self, value: Any) -> list[ModelDelta]:
        """Take a whole answer that came as one JSON value; return what to show."""

    def reply(self) -> Reply:
        """Return the message; to be asked only when its end was stated."""
