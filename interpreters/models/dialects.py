"""What a dialect of the wire is: how a request is written, and something that folds the answer into one message.

A model interpreter knows no dialect. It takes a ``Dialect`` and a ``Profile`` (how one family of providers deviates):
``encode`` makes the body, ``path`` and ``headers`` say how it is sent, ``folder`` makes what ``AnswerDecoder`` feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from agentcore.messages import Usage
from agentcore.projections import RequestView
from interpreters.models.assembly import Reply
from interpreters.models.profiles import Profile
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


@attrs.frozen
class Dialect:
    """One way of talking to a model."""

    name: str
    """Its name, kept beside every answer: what a provider wants back verbatim goes only to the dialect it came by."""
    path: str
    """What stands behind the base URL, with its slash."""
    encode: Callable[[RequestView, str, Profile], dict[str, Any]]
    """Makes the body of a request for a stream to a model; ``ValueError`` where ``settings.options`` is no object."""
    folder: Callable[[], Folder]
    """Makes what folds one answer."""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    """Header fields that every request of the dialect needs, in lower case."""
