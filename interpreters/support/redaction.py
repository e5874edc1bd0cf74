"""Secrets taken out of text before it is stored, shown or sent to a model.

1. Values that the host names are removed wherever they stand, also as they look inside JSON text.
2. Forms that are nothing but credentials are removed too: bearer and basic authorisation, the well-known key prefixes,
   JSON web tokens, private key blocks, passwords inside addresses. Guesses such as ``password = ...`` are left alone:
   a tool that reads a file must show what stands there, or the model could never edit it.
3. This is a net against accidents, not a wall: a secret that is split, encoded or encrypted passes through it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

REDACTED = "[redacted]"
"""What stands where a secret stood."""

VALUE_LENGTH_MIN = 6
"""Shorter values are refused: they would tear holes into ordinary words."""

# Each begins with a literal, which lets the matcher skip through megabytes of ordinary text.
_PATTERNS = (
    r"(?P<label>earer +)(?:(?=\S*\d)[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{20,})",
    r"(?P<label>Basic +)[A-Za-z0-9+/]{12,}={0,2}",
    r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}",
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"AKIA[0-9A-Z]{16}",
    r"AIza[A-Za-z0-9_-]{35}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?P<label>-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)[^-]{0,20000}",
    r"(?P<label>://[^\s/:@]{0,100}:)[^\s/@]{3,200}(?=@)",
)

_CARRY_MAX = 1 << 16
# In one endless line a secret that is not longer than this is still found across the place where it is divided.
_HOLD = 256


class Redactor:
    """Takes out the values it was given and everything that has the form of a credential."""

    def __init__(self, values: Iterable[str] = (), *, forms: bool = True) -> None:
        """Remember the values; ``ValueError`` for one that is too short. ``forms=False`` removes only the values."""
        known = sorted({form for value in values for form in _forms_of(value)}, key=len, reverse=True)
        self.longest = max((len(value) for value in known), default=0)
        self.spans_lines = any("\n" in value for value in known)
        patterns = [re.escape(value) for value in known] + (list(_PATTERNS) if forms else [])
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def redact(self, text: str) -> str:
        """Return the text without the secrets."""
        for pattern in self._patterns:
            text = pattern.sub(_replace, text)
        return text

    def place_to_divide(self, text: str, at: int) -> int:
        """Return the largest place up to ``at`` where the text can be divided without dividing a secret.

        What reaches the very end may go on in text that is still to come.
        """
        spans = [found.span() for pattern in self._patterns for found in pattern.finditer(text)]
        for start, end in sorted(spans, reverse=True):
            if start < at and (at < end or end == len(text)):
                at = start
        return at


def _forms_of(value: str) -> tuple[str, str]:
    if len(value) < VALUE_LENGTH_MIN:
        raise ValueError(
            f"a secret of {len(value)} characters cannot be redacted, it needs at least {VALUE_LENGTH_MIN}"
        )
    return value, json.dumps(value, ensure_ascii=False)[1:-1]


def _replace(found: re.Match[str]) -> str:
    label = found.groupdict().get("label") or ""
    return f"{label}{REDACTED}"


class RedactingStream:
    """Redacts text that arrives in pieces, holding back an end that may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._carry = ""

    def feed(self, piece: str) -> str:
        """Take the next piece; return what can be let go of: as a rule all lines that are complete."""
        text = self._carry + piece
        at = self._redactor.place_to_divide(text, self._end_of_lines(text))
        self._carry = text[at:]
        return self._redactor.redact(text[:at])

    def close(self) -> str:
        """Return the rest."""
        rest, self._carry = self._carry, ""
        return self._redactor.redact(rest)

    def _end_of_lines(self, text: str) -> int:
        known = self._redactor
        end = len(text) - known.longest if known.spans_lines else len(text)
        at = max(text.rfind("\n", 0, max(end, 0)), text.rfind("\r", 0, max(end, 0))) + 1
        return at if at or len(text) <= _CARRY_MAX else len(text) - max(_HOLD, known.longest)
