"""The page `docs/peers.md`, of which each measurement owns a section between its marks."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "peers.md"


def home() -> Path:
    """Where the environments of the peers are."""
    return Path(os.environ.get("AGENTCORE_PEERS", ROOT / ".venv" / "peers"))


def write_section(name: str, maker: str, lines: list[str]) -> None:
    """Put a section into the page, in place of the one before it."""
    begin, end = f"<!-- {name}: made by {maker} -->", f"<!-- {name}: end -->"
    before, found, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2] if found else ""
    parts = (before.strip("\n"), "\n".join([begin, *lines, end]), after.strip("\n"))
    PAGE.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
