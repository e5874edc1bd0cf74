"""Untrusted text made harmless for a screen.

What a model, a tool or a file says may hold control sequences that recolour a terminal, move its cursor over what was
shown before, or turn the direction of writing so that a question reads as another one. Such characters are shown by
their number, as JSON writes them, and never sent.

Lone surrogates are another matter (they cannot be stored at all): ``agentcore.messages.clean_text`` replaces those.
"""

from __future__ import annotations

import unicodedata

from agentcore.messages import clean_text

_SPACES = "Zs"
_LINES = frozenset("\n\t")


class _Shown(dict[int, str]):
    """Translation table that fills itself: the answer for a character is worked out once."""

    def __init__(self, kept: frozenset[str]) -> None:
        super().__init__()
        self._kept = kept

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        plain = letter.isprintable() or letter in self._kept or unicodedata.category(letter) == _SPACES
        self[code] = letter if plain else _number(code)
        return self[code]


def _number(code: int) -> str:
    units = chr(code).encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_TEXT = _Shown(_LINES)
_LINE = _Shown(frozenset())


def visible(text: str) -> str:
    r"""Return the text with everything that does not print shown as ``\uXXXX``; line breaks and tabs stay."""
    return text if text.isprintable() else clean_text(text).translate(_TEXT)


def visible_line(text: str) -> str:
    r"""Return the text as one line: like ``visible``, but line breaks and tabs are shown as numbers too."""
    return text if text.isprintable() else clean_text(text).translate(_LINE)


def shortened(text: str, length: int) -> str:
    """Return the text, or its beginning and ``…`` in ``length`` characters."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"
