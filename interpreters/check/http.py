"""A small HTTP server on loopback, one request a connection, in which every byte and every end is the caller's choice.

A peer that goes away ends its exchange and nothing else. ``Exchange.sent`` says whether an answer left whole.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import anyio
import anyio.abc
import attrs
import h11

_CHUNK = 1 << 16
_BODY_MAX = 1 << 24
_PATIENCE_S = 30.0

# What a torn connection, or a peer that breaks the protocol, may raise.
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, h11.ProtocolError, TimeoutError)


@attrs.frozen
class Request:
    """What came in."""

    method: str
    """``GET``, ``POST`` …"""
    path: str
    """The path, without the query."""
    query: Mapping[str, str]
    """The query, the last value of each name."""
    body: bytes
    """The content."""

    def json(self) -> Any:
        """Return the content as JSON, ``None`` if it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Exchange:
    """One request and its answer."""

    def __init__(self, request: Request, connection: h11.Connection, stream: anyio.abc.SocketStream) -> None:
        self.request = request
        self.sent = False
        """The answer has left whole."""
        self._connection = connection
        self._stream = stream

    async def answer(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Answer with a JSON value."""
        body = json.dumps(value).encode()
        given = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        await self.begin(status, given)
        await self.send(body)
        await self.end()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer."""
        lines = [(name.encode(), value.encode()) for name, value in {**headers, "connection": "close"}.items()]
        await self._write(h11.Response(status_code=status, headers=lines, reason=b""))

    async def send(self, data: bytes) -> None:
        """Send a piece of the content."""
        await self._write(h11.Data(data=data))

    async def end(self) -> None:
        """End the answer as it should end; without this the connection just closes."""
        await self._write(h11.EndOfMessage())
        self.sent = True

    async def gone(self) -> None:
        """Return when the peer has closed its side."""
        with contextlib.suppress(*_GONE):
            while True:
                await self._stream.receive(_CHUNK)

    async def _write(self, event: h11.Event) -> None:
        data = self._connection.send(event)
        if data:
            await self._stream.send(data)


Handler = Callable[[Exchange], Awaitable[None]]
"""Answers one request, or returns without an answer, which closes the connection."""


async def listen() -> anyio.abc.Listener[anyio.abc.SocketStream]:
    """Listen at a free port that only this machine can reach."""
    return (await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)).listeners[0]


async def serve(listener: anyio.abc.Listener[anyio.abc.SocketStream], handler: Handler) -> None:
    """Answer requests until cancelled."""
    await listener.serve(functools.partial(_converse, handler))


async def _converse(handler: Handler, stream: anyio.abc.SocketStream) -> None:
    async with stream:
        with contextlib.suppress(*_GONE):
            connection = h11.Connection(h11.SERVER)
            with anyio.fail_after(_PATIENCE_S):
                request = await _receive(connection, stream)
            await handler(Exchange(request, connection, stream))


async def _receive(connection: h11.Connection, stream: anyio.abc.SocketStream) -> Request:
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"")
                await stream.send(connection.send(go_on) or b"")
            try:
                connection.receive_data(await stream.receive(_CHUNK))
            except anyio.EndOfStream:
                connection.receive_data(b"")
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > _BODY_MAX:
                raise h11.RemoteProtocolError("the content is too long")
        elif head is not None and isinstance(event, h11.EndOfMessage):
            path, _, query = head.target.decode("latin-1").partition("?")
            return Request(head.method.decode("latin-1"), path, dict(parse_qsl(query)), bytes(body))
        else:
            raise anyio.EndOfStream


def port_of(listener: anyio.abc.Listener[anyio.abc.SocketStream]) -> int:
    """Return the port that a listener has."""
    return int(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610 - it is no method of Django's
