"""Emphasis, where a terminal can show it. Without colour every text stays as it is: nothing is said by colour alone."""

from __future__ import annotations

import attrs


@attrs.frozen
class Style:
    """Marks pieces of text. What is marked must be harmless already."""

    colour: bool = False
    """Whether to mark at all."""

    def dim(self, text: str) -> str:
        """Mark what may be passed over."""
        return self._in("2", text)

    def bold(self, text: str) -> str:
        """Mark what to read first."""
        return self._in("1", text)

    def good(self, text: str) -> str:
        """Mark a success."""
        return self._in("32", text)

    def bad(self, text: str) -> str:
        """Mark a failure."""
        return self._in("31", text)

    def unsure(self, text: str) -> str:
        """Mark what nobody knows, and what needs a person."""
        return self._in("33", text)

    def _in(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.colour and text else text
