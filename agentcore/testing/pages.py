"""The page that every scenario file is: what happens stands at the margin, what came of it is indented below.

Only what stands at the margin is read, so a file is renewed by running it. ``#`` begins a remark, which stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

INDENT = "    "
"""Before each line that says what came of something."""


@attrs.frozen
class Entry:
    """Something that happens, and what came of it."""

    said: tuple[str, ...]
    """The lines at the margin."""
    came: tuple[str, ...] = ()
    """The lines below, without their indent."""


def entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line at the margin with its number, from 1; blank lines and indented ones are left out."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith(" "):
            yield number, line


def laid_out(page: Sequence[Entry | str]) -> str:
    """Return the text of a file; its first entry is the header.

    A blank line stands before everything that follows, but not between remarks, nor between a header of which nothing
    came and a remark.
    """
    lines: list[str] = []
    before: Entry | str = ""
    for place, each in enumerate(page):
        is_remark_on = isinstance(each, str) and (isinstance(before, str) or (place == 1 and not before.came))
        if lines and not is_remark_on:
            lines.append("")
        before = each
        if isinstance(each, str):
            lines.append(each)
        else:
            lines += [*each.said, *(f"{INDENT}{line}" for line in each.came)]
    return "\n".join(lines) + "\n"
