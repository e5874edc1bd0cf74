"""Regular expressions that cannot be kept busy: matched in time that grows with the text, and with nothing else.

Patterns and texts come from models and from hosts. Python's own engine can be kept busy for hours by thirty characters,
and nothing can interrupt it. The engine that checks schemas has a mode without backtracking; look-around and
back-references do not exist there.
"""

from __future__ import annotations

from collections.abc import Callable

import jsonschema_rs

from interpreters.support.cleaning import shortened


def linear_search(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return a function that says whether the pattern occurs in a text; ``ValueError`` if it is not usable."""
    try:
        schema = {"pattern": f"(?i){pattern}" if ignore_case else pattern}
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions()).is_valid
    except jsonschema_rs.ValidationError as error:
        advice = "look-around and back-references are not supported"
        raise ValueError(f"{shortened(pattern, 100)!r} is not a usable regular expression; {advice}") from error
