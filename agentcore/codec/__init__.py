"""Bytes of the core's values: what a journal, a snapshot, a log line and a scenario file hold.

How to read this package: ``tags`` is the table of names and versions, ``parsing`` turns bytes into JSON values,
``values`` and ``classes`` turn those into values and back, ``records`` puts the three together. The rules:

1. Strict both ways. Nothing is coerced, no default fills a gap, and what could not be read again is not written.
2. Tags and versions are explicit: a class may be renamed, a tag never; older versions are lifted by pure upcasters.
3. Whatever is wrong is said with path, problem and version; what a newer version wrote is refused, not guessed at.
"""

from __future__ import annotations

from agentcore.codec.errors import DecodeError, EncodeError, NewerVersion
from agentcore.codec.records import Codec, make_codec
from agentcore.codec.tags import SCHEMA, TAGS, UPCASTERS, Header, Tag, Upcaster
from agentcore.codec.values import INTEGERS

CODEC = make_codec()
"""The codec of the shipped tables, whose functions stand below."""

encode_event = CODEC.encode_event
"""Write an event as one line of a journal; raises ``EncodeError``."""
decode_event = CODEC.decode_event
"""Read the event of one line, an older version lifted to the present one; raises ``DecodeError``."""
encode_state = CODEC.encode_state
"""Write a state as the body of a snapshot; raises ``EncodeError``."""
decode_state = CODEC.decode_state
"""Read the state of a snapshot, with the very structure it had; raises ``DecodeError``."""
encode_command = CODEC.encode_command
"""Write a command for logs and scenario files; raises ``EncodeError``."""
decode_command = CODEC.decode_command
"""Read the command; raises ``DecodeError``."""
encode_header = CODEC.encode_header
"""Write what stands before the events of a journal; raises ``EncodeError``."""
decode_header = CODEC.decode_header
"""Read the arguments of ``start``; raises ``DecodeError``, and ``NewerVersion`` also for a newer journal schema."""
encode_rejection = CODEC.encode_rejection
"""Write a rejection as it is kept beside a journal; raises ``EncodeError``."""
decode_rejection = CODEC.decode_rejection
"""Read the rejection; raises ``DecodeError``."""

__all__ = [
    "CODEC",
    "INTEGERS",
    "SCHEMA",
    "TAGS",
    "UPCASTERS",
    "Codec",
    "DecodeError",
    "EncodeError",
    "Header",
    "NewerVersion",
    "Tag",
    "Upcaster",
    "decode_command",
    "decode_event",
    "decode_header",
    "decode_rejection",
    "decode_state",
    "encode_command",
    "encode_event",
    "encode_header",
    "encode_rejection",
    "encode_state",
    "make_codec",
]
