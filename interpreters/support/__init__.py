"""What interpreter families share: the door to the operating system, processes, bounded output, redaction, cleaning."""

from __future__ import annotations
