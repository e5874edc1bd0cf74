"""Settings in a file ``.env``: ``NAME=value`` lines. Small and strict.

1. Only names that are ours count; other lines belong to other programs and are passed over, so that their dialects do
   no harm.
2. A line of ours has exactly one meaning: a bare value without blanks, quotes or ``#``, or a value in single or double
   quotes. In double quotes a backslash stands before ``"`` and a backslash; nothing is ever expanded or run.
3. Whatever else a line of ours says is an error with file and line; a value is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from interpreters.support import osio

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Z][A-Z0-9_]*)(?P<rest>.*)", re.DOTALL)
_VALUE = re.compile(
    r"""\s*=\s*(?:
        "(?P<double>(?:[^"\\]|\\["\\])*)"
      | '(?P<single>[^']*)'
      | (?P<bare>[^\s"'\#]*)
    )\s*(?:\#.*)?""",
    re.VERBOSE,
)


class DotenvError(ValueError):
    """A file that cannot be read, or a line of ours in it; the text says which, and what to do."""


def parse_dotenv(text: str, place: str, ours: Callable[[str], bool]) -> Mapping[str, str]:
    """Return the settings in a text whose names are ``ours``.

    ``DotenvError`` names ``place``, the line and what is wrong with it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        read = _LINE.fullmatch(line.rstrip("\r"))
        if read is None or not ours(read["name"]):
            continue
        name, value = read["name"], _VALUE.fullmatch(read["rest"])
        if value is None:
            raise DotenvError(f"{place}, line {number}: {name} has no value that can be read: write {name}='the value'")
        if name in found:
            raise DotenvError(f"{place}, line {number}: {name} is set a second time: remove one of the lines")
        found[name] = _plain(value)
    return found


def _plain(value: re.Match[str]) -> str:
    if value["double"] is not None:
        return re.sub(r"\\([\"\\])", r"\1", value["double"])
    return value["single"] if value["single"] is not None else value["bare"]


def read_dotenv(path: Path, ours: Callable[[str], bool], *, required: bool = True) -> Mapping[str, str]:
    """Return the settings in a file whose names are ``ours``, none if it is missing and not ``required``."""
    try:
        return parse_dotenv(osio.read_file(path).decode(), str(path), ours)
    except UnicodeDecodeError as error:
        raise DotenvError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError | IsADirectoryError):
            return {}
        raise DotenvError(f"{path} cannot be read ({error.strerror}): mend that, or name another file") from error
