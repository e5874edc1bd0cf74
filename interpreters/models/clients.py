"""The HTTP client, as little of it as is needed: ``httpx.AsyncClient``, ``httpx2.AsyncClient``, or one of a host's own.

A pool of connections that is shared by streams can lose its places: httpx 0.28 gives a free place to a request that is
being cancelled, which neither uses it nor gives it back, and once all are lost every later request waits for ever. So
the client used by default has no pool: every stream has a connection of its own, which nobody else can be waiting for.
How many streams there are at once is counted beside it, by ``Places``.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator, ItemsView, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio
import httpx
from anyio import aclose_forcefully
from anyio.abc import AsyncResource
from anyio.lowlevel import RunVar

HttpTimeouts = tuple[float | None, float | None, float | None, float | None]
"""Seconds to connect, read, write, and wait for a pool; ``None`` waits for ever."""


class ResponseHeaders(Protocol):
    """Header fields of an answer."""

    def items(self) -> ItemsView[str, str]:
        """Return names and values."""


class Response(Protocol):
    """An answer whose body is still coming."""

    @property
    def status_code(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> ResponseHeaders:
        """The header fields."""

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """Give out the body's bytes as they come, not unpacked."""


class Client(Protocol):
    """Sends requests. What httpx raises is known by the names of its classes, ``OSError`` too; all else is a defect."""

    def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        timeout: HttpTimeouts,
        follow_redirects: bool,
    ) -> AbstractAsyncContextManager[Response]:
        """Send a request; the answer is there within the block, and let go of at its end, however that comes."""


class OwnConnections:
    """Sends each request over a connection of its own, closed with the answer; needs no closing itself."""

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        timeout: HttpTimeouts,  # noqa: ASYNC109 - the signature is the library's
        follow_redirects: bool,
    ) -> AsyncIterator[Response]:
        """Send a request by httpx, with the proxies of the environment except to this machine."""
        async with (
            Opened() as opened,
            httpx.AsyncClient(verify=_trusted(url), trust_env=not is_local(url)) as client,
        ):
            request = client.build_request(
                method,
                url,
                headers=dict(headers),
                content=content,
                timeout=timeout,
                extensions={"trace": opened.note},
            )
            request.stream = _Body(content)
            response = await client.send(request, stream=True, follow_redirects=follow_redirects)
            try:
                yield _Answer(response)
            finally:
                await response.aclose()


class _Answer:
    """An answer of httpx, read without what the library does to each piece for those who want it unpacked."""

    def __init__(self, response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self.status_code = response.status_code
        self.headers = response.headers
        self.aiter_raw = response.stream.__aiter__


class _Body(httpx.AsyncByteStream):
    """A body in one piece. httpx's own is a generator, which a cancelled request leaves open."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._content)


class _Once:
    def __init__(self, content: bytes) -> None:
        self._left = [content]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


class Opened:
    """Closes what was opened on the way to an answer: httpx forgets a socket whose TLS handshake is cancelled."""

    def __init__(self) -> None:
        self._streams: list[AsyncResource] = []

    async def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Take what the library tells of its progress. Nothing is awaited: no cancellation comes between."""
        if event.endswith(".connect_tcp.complete"):
            self._streams.append(info["return_value"])

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close everything, without waiting for anybody."""
        for stream in self._streams:
            await aclose_forcefully(stream)


class Places:
    """At most so many at a time on each event loop; whoever waits for a place and is cancelled leaves no trace."""

    def __init__(self, most: int | None = None) -> None:
        """``most`` is at least 1; ``None`` bounds nothing."""
        if most is not None and most < 1:
            raise ValueError(f"streams_max is {most}: expected at least 1, or None for no bound")
        self._most = most
        # An object that tasks wait on belongs to one event loop; a model may be used on one after the other.
        self._here: RunVar[anyio.Semaphore] = RunVar("places")

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a place for the length of a block."""
        if self._most is None:
            yield
            return
        try:
            free = self._here.get()
        except LookupError:
            free = anyio.Semaphore(self._most)
            self._here.set(free)
        async with free:
            yield


def is_local(url: str) -> bool:
    """Say whether an address is this machine: a proxy of the environment would lead away from it."""
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trusted(url: str) -> ssl.SSLContext:
    """Return whom to trust: nobody, which costs nothing, where no TLS is spoken, not even with a proxy."""
    return _nobody() if url.startswith("http:") and is_local(url) else _certificates()


@functools.cache
def _nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Load the certificate authorities, once for many clients: it takes longer than a request on loopback."""
    return httpx.create_ssl_context()


if TYPE_CHECKING:
    # The checker of types refuses this line if either stops fitting.
    _FITTING: tuple[Client, Client] = (httpx.AsyncClient(), OwnConnections())
