"""Replies of scripted models, as data."""

from __future__ import annotations


def say(text: str = "", *calls: tuple[str, dict]) -> dict:
    """An answer with calls."""
    return {"do": "say", "text": text, "calls": [{"tool": name, "arguments": given} for name, given in calls]}


def writes(path: str, content: str = "x") -> tuple[str, dict]:
    """A call that writes a file."""
    return "write_file", {"path": path, "content": content}
