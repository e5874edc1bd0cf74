"""Keys taken out of answers: a server that repeats what it was sent must not put a key into a journal.

Answers are kept verbatim otherwise; only a part that holds a key is changed. Pieces that are shown as they come are
looked at one by one: a key that is divided between two of them is seen in what is stored, not on the screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from agentcore.events import ModelFailed, ModelReplied, ModelStopped
from interpreters.support.ports_model import ModelRun
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor

Ended = ModelReplied | ModelFailed | ModelStopped
"""How a request ends."""

NEWEST_MAX = 16
"""Keys that are remembered where each attempt has its own: more than are under way at once."""


class Hiding:
    """Knows the keys of a model and takes them out of what is told of its answers."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        """Begin with the keys that do not change; ``add`` takes others, of which the newest are remembered."""
        self._fixed = tuple(key for key in keys if len(key) >= VALUE_LENGTH_MIN)
        self._newest: tuple[str, ...] = ()

    def add(self, key: str) -> None:
        """Take a further key; one that is too short to be told from ordinary words is left alone."""
        if len(key) >= VALUE_LENGTH_MIN and key not in self._newest:
            self._newest = (key, *self._newest)[:NEWEST_MAX]

    def watched(self, run: ModelRun) -> ModelRun:
        """Return a run that shows no key."""
        return attrs.evolve(run, show=lambda delta: run.show(self._clean(delta)))

    def ended(self, event: Ended) -> Ended:
        """Return an end without the keys."""
        if not isinstance(event, ModelFailed):
            event = attrs.evolve(event, parts=tuple(self._clean(part) for part in event.parts))
        found: Ended = self._clean(event)
        return found

    def _clean(self, value: Any) -> Any:
        """Return a value whose texts hold no key; the same one if none does."""
        keys = (*self._fixed, *self._newest)
        texts = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
        found = {
            name: Redactor(keys, forms=False).redact(text)
            for name, text in texts.items()
            if isinstance(text, str) and any(key in text for key in keys)
        }
        return attrs.evolve(value, **found) if found else value
