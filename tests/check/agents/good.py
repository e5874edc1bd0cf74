"""The correct one."""

from __future__ import annotations

from kit import Loop

if __name__ == "__main__":
    Loop().main()
