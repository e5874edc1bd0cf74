"""What is written whole: events, states, commands, headers, rejections. One JSON object each, without a newline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from agentcore.codec.classes import make_converter
from agentcore.codec.errors import Flaw, NewerVersion
from agentcore.codec.parsing import parse
from agentcore.codec.tags import SCHEMA, TAGS, UPCASTERS, Header, Tag, Upcaster
from agentcore.codec.values import Hook, reader_of, writer_of
from agentcore.commands import Command
from agentcore.events import Event
from agentcore.rejections import Rejection
from agentcore.states import State


@attrs.frozen
class _Form:
    """How one kind of record is written and read."""

    write: Hook
    read: Hook

    def encode(self, value: Any) -> bytes:
        try:
            return orjson.dumps(self.write(value))
        except Flaw as flaw:
            raise flaw.to_encode_error() from None

    def decode(self, data: bytes) -> Any:
        try:
            return self.read(parse(data))
        except Flaw as flaw:
            raise flaw.to_decode_error() from None


@attrs.frozen
class Codec:
    """Encoders and decoders of one table of tags and upcasters.

    Every ``encode_…`` raises ``EncodeError``, every ``decode_…`` ``DecodeError`` or its kind ``NewerVersion``.
    ``decode(encode(x)) == x``, and equal values give equal bytes.
    """

    _event: _Form
    _state: _Form
    _command: _Form
    _header: _Form
    _rejection: _Form

    def encode_event(self, event: Event) -> bytes:
        """Return the event as it stands on one line of a journal."""
        return self._event.encode(event)

    def decode_event(self, data: bytes) -> Event:
        """Return the event of one line; an older version is brought up to the present one."""
        found: Event = self._event.decode(data)
        return found

    def encode_state(self, state: State) -> bytes:
        """Return the state as the body of a snapshot."""
        return self._state.encode(state)

    def decode_state(self, data: bytes) -> State:
        """Return the state of a snapshot; its history and id sets have the structure they had."""
        found: State = self._state.decode(data)
        return found

    def encode_command(self, command: Command) -> bytes:
        """Return the command, for logs and scenario files."""
        return self._command.encode(command)

    def decode_command(self, data: bytes) -> Command:
        """Return the command."""
        found: Command = self._command.decode(data)
        return found

    def encode_header(self, header: Header) -> bytes:
        """Return what stands before the events of a journal."""
        return self._header.encode(header)

    def decode_header(self, data: bytes) -> Header:
        """Return the arguments of ``start``; ``NewerVersion`` if the whole journal follows a newer schema."""
        found: Header = self._header.decode(data)
        if found.schema > SCHEMA:
            raise NewerVersion("$.schema", "journal schema", found.schema, SCHEMA)
        return found

    def encode_rejection(self, rejection: Rejection) -> bytes:
        """Return the rejection as it is kept beside a journal."""
        return self._rejection.encode(rejection)

    def decode_rejection(self, data: bytes) -> Rejection:
        """Return the rejection."""
        found: Rejection = self._rejection.decode(data)
        return found


def make_codec(
    tags: Mapping[type[Any], Tag] = TAGS, upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS
) -> Codec:
    """Return the codec of a table: the shipped ones, or others that a test drives.

    Raises ``ValueError`` for two classes with one tag, ``TypeError`` for a type of the vocabulary without a rule.
    """
    converter = make_converter(tags, upcasters)
    roots = (Event, State, Command, Header, Rejection)
    return Codec(*(_Form(writer_of(root, converter), reader_of(root, converter)) for root in roots))
