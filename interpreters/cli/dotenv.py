"""Settings in a file ``.env``: ``NAME=value`` lines. Small and strict.

1. Only names that are ours count (``OPENAI_…``, ``AGENTCORE_…``); other lines belong to other programs and are passed
   over, so that their dialects do no harm.
2. A line of ours has exactly one meaning: a bare value without blanks, quotes or ``#``, or a value in single or double
   quotes. In double quotes a backslash stands before ``"`` and a backslash; nothing is ever expanded or run.
3. Whatever else a line of ours says is an error with file and line; a value is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from interpreters.cli.exits import Problem

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>(?:OPENAI|AGENTCORE)_[A-Z0-9_]+)(?P<rest>.*)", re.DOTALL)
_VALUE = re.compile(
    r"""\s*=\s*(?:
        "(?P<double>(?:[^"\\]|\\["\\])*)"
      | '(?P<single>[^']*)'
      | (?P<bare>[^\s"'\#]*)
    )\s*(?:\#.*)?""",
    re.VERBOSE,
)


def parse_dotenv(text: str, place: str) -> Mapping[str, str]:
    """Return our settings in a text; ``Problem`` names ``place``, the line and what is wrong with it."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        ours = _LINE.fullmatch(line.rstrip("\r"))
        if ours is None:
            continue
        name, value = ours["name"], _VALUE.fullmatch(ours["rest"])
        if value is None:
            raise Problem(f"{place}, line {number}: {name} has no value that can be read: write {name}='the value'")
        if name in found:
            raise Problem(f"{place}, line {number}: {name} is set a second time: remove one of the lines")
        found[name] = _plain(value)
    return found


def _plain(value: re.Match[str]) -> str:
    if value["double"] is not None:
        return re.sub(r"\\([\"\\])", r"\1", value["double"])
    return value["single"] if value["single"] is not None else value["bare"]


def read_dotenv(path: Path, *, required: bool) -> Mapping[str, str]:
    """Return our settings in a file, none if it is missing and not ``required``."""
    if not required and not path.is_file():
        return {}
    try:
        return parse_dotenv(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}): mend that, or name another --env-file") from error
