"""One HTTP exchange with a model server: bytes in, the decoder fed, everything that can break turned into a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic

import anyio
import attrs

from interpreters.models.assembly import Reply
from interpreters.models.clients import Client
from interpreters.models.decoder import AnswerDecoder
from interpreters.models.dialects import Folder
from interpreters.models.failures import Failure
from interpreters.models.faults import Fault
from interpreters.models.patience import Patience, Timeouts
from interpreters.support.ports_model import ModelDelta


@attrs.frozen
class WireRequest:
    """What is sent."""

    url: str
    """Where to."""
    headers: Mapping[str, str] = attrs.field(repr=False)
    """Header fields; they hold the credentials."""
    content: bytes = attrs.field(repr=False)
    """The body."""


class Exchange:
    """Sends one request and reads the answer. What the network does is an outcome, never an exception."""

    def __init__(
        self,
        folder: Folder,
        timeouts: Timeouts,
        *,
        opened: Callable[[], None],
        show: Callable[[ModelDelta], None],
        now_ms: Callable[[], int],
        codes: Mapping[str, Fault] | None = None,
    ) -> None:
        self.folder = folder
        self._timeouts = timeouts
        self._opened = opened
        self._show = show
        self._now_ms = now_ms
        self._codes = codes
        self._decoder: AnswerDecoder | None = None
        self._failure: Failure | None = None
        self._begun = False

    @property
    def shown(self) -> bool:
        """Whether anything of the answer was shown."""
        return self._decoder is not None and self._decoder.shown

    @property
    def complete(self) -> bool:
        """Whether there is a message, whatever happens from now on."""
        return self._failure is None and self.folder.stated and not (self._decoder and self._decoder.failure)

    def outcome(self) -> Reply | Failure:
        """Return what became of the request."""
        if self._failure is not None or self._decoder is None:
            return self._failure or Failure(Fault.DEFECT, "the request was never sent")
        return self._decoder.outcome()

    async def perform(self, client: Client, request: WireRequest) -> None:
        """Send the request and read the answer to its end. Raises only what no HTTP library should."""
        patience = Patience(self._timeouts, monotonic())
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + patience.left(monotonic())) as scope:
                await self._exchange(client, request, patience, scope)
            if scope.cancelled_caught:
                self._lose(Failure(Fault.IDLE_TIMEOUT, patience.waited_for))
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            self._lose(failure)

    async def _exchange(
        self, client: Client, request: WireRequest, patience: Patience, scope: anyio.CancelScope
    ) -> None:
        sending = client.stream(
            "POST",
            request.url,
            headers=request.headers,
            content=request.content,
            timeout=(self._timeouts.connect_s, None, None, None),
            follow_redirects=False,
        )
        async with sending as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            now_ms = self._now_ms()
            decoder = AnswerDecoder(self.folder, response.status_code, headers, now_ms=now_ms, codes=self._codes)
            self._decoder = decoder
            # The head of an answer is bytes too.
            patience.hear(decoder, monotonic())
            scope.deadline = anyio.current_time() + patience.left(monotonic())
            async for chunk in response.aiter_raw():
                self._take(decoder, chunk)
                # Also what is done is read on, for a moment: leaving the loop would leave generators of the library
                # open, while the end of the body, or of the time, ends them too.
                now = monotonic()
                if patience.hear(decoder, now):
                    scope.deadline = anyio.current_time() + patience.left(now)
            self._show_all(decoder.close())

    def _take(self, decoder: AnswerDecoder, chunk: bytes) -> None:
        if not self._begun and decoder.ok:
            self._begun = True
            self._opened()
        for delta in decoder.feed(chunk):
            self._show(delta)

    def _show_all(self, deltas: Sequence[ModelDelta]) -> None:
        for delta in deltas:
            self._show(delta)

    def _lose(self, failure: Failure) -> None:
        """Nothing more will come: that is the failure, unless the answer had said that it is complete."""
        if self._decoder is None:
            self._failure = failure
        elif self._decoder.ok:
            self._decoder.lose(failure)
        else:
            # The status had said what is wrong; the body would only have told more.
            self._decoder.close()


_FAULTS: Mapping[str, tuple[Fault, str]] = {
    "ConnectTimeout": (Fault.CONNECT_TIMEOUT, "the server did not accept a connection in time"),
    "ConnectError": (Fault.CONNECTION, "the server cannot be reached; is it running, and is the base URL right?"),
    "ProxyError": (Fault.CONNECTION, "the proxy refused"),
    "PoolTimeout": (Fault.CONNECT_TIMEOUT, "the client's pool gave no connection in time"),
    "TimeoutException": (Fault.IDLE_TIMEOUT, "the connection was silent for too long"),
    "LocalProtocolError": (Fault.INVALID_REQUEST, "the request cannot be sent as it is"),
    "UnsupportedProtocol": (Fault.INVALID_REQUEST, "the base URL has to begin with http:// or https://"),
    "TransportError": (Fault.CONNECTION, "the connection broke"),
    "OSError": (Fault.CONNECTION, "the connection broke"),
}
"""What httpx and its successor raise, by the names of the classes, which are the same in both; and plain trouble of a
network, which other clients may let through."""


def failure_of(error: Exception) -> Failure | None:
    """Classify what the HTTP library raised, by the nearest class that is known; ``None`` for a defect."""
    known = next((_FAULTS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _FAULTS), None)
    if known is None:
        return None
    fault, words = known
    if fault is Fault.INVALID_REQUEST:
        # These texts quote what was to be sent, header fields included.
        return Failure(fault, words)
    told = str(error).strip()
    return Failure(fault, f"{words} ({told})" if told else words)
