"""What a tool may say about its end, and what is read from an exception that says nothing.

``ToolFailed`` *claims that the attempt has ended*. A timeout or a torn connection proves no such thing: the request may
be under way, the effect may come later. So for every tool that can change the world the table ``LOST`` decides which
exceptions leave the outcome open; everything else a tool raises is its own account of a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from agentcore.messages import EffectSeen


class ToolDefinitionError(ValueError):
    """A tool was declared wrongly: what was found, at which tool, and what to do."""


class ToolError(Exception):
    """Raised by a tool: the attempt has ended and what was asked for was not done."""

    def __init__(self, message: str, *, fatal: bool = False, kind: str = "") -> None:
        """``fatal`` says that no other arguments can mend it; ``kind`` is a machine-readable class of the error."""
        super().__init__(message)
        self.fatal = fatal
        self.kind = kind


class OutcomeUnknown(Exception):
    """Raised by a tool: whether the effect happened cannot be told from here."""

    def __init__(self, cause: str, *, target: str = "", observation: str = "") -> None:
        """``target`` is what was acted on, ``observation`` the last known remote state."""
        super().__init__(cause)
        self.target = target
        self.observation = observation


class ToolStopped(Exception):
    """Raised by a tool that was told to stop and did: the attempt has ended, with this much known of its effect."""

    def __init__(self, effect: EffectSeen = EffectSeen.UNPROVED) -> None:
        """``effect`` is ``NONE``, ``DONE`` or ``UNPROVED``."""
        super().__init__(f"stopped, effect {effect.value}")
        self.effect = effect


@attrs.frozen
class Lost:
    """One row: exceptions that prove no end."""

    names: tuple[str, ...]
    """Classes by their full name, so that no library has to be imported to recognise its errors; subclasses count."""
    why: str
    """What they leave open."""


LOST: tuple[Lost, ...] = (
    Lost((f"{OutcomeUnknown.__module__}.{OutcomeUnknown.__qualname__}",), "the tool cannot tell"),
    Lost(
        (
            "builtins.TimeoutError",
            "subprocess.TimeoutExpired",
            "trio.TooSlowError",
            "httpx.TimeoutException",
            "httpcore.TimeoutException",
            "requests.exceptions.Timeout",
            "urllib3.exceptions.TimeoutError",
        ),
        "a timeout: what was asked for may still happen",
    ),
    Lost(
        (
            "builtins.ConnectionError",
            "builtins.EOFError",
            "anyio.BrokenResourceError",
            "anyio.ClosedResourceError",
            "anyio.EndOfStream",
            "trio.BrokenResourceError",
            "trio.ClosedResourceError",
            "ssl.SSLError",
            "http.client.HTTPException",
            "urllib.error.URLError",
            "httpx.TransportError",
            "httpcore.NetworkError",
            "httpcore.ProtocolError",
            "requests.exceptions.ConnectionError",
            "requests.exceptions.ChunkedEncodingError",
            "urllib3.exceptions.HTTPError",
            "aiohttp.client_exceptions.ClientConnectionError",
            "aiohttp.client_exceptions.ClientPayloadError",
        ),
        "the connection broke: what was sent may have arrived",
    ),
    Lost(
        ("asyncio.exceptions.CancelledError", "concurrent.futures._base.CancelledError", "trio.Cancelled"),
        "it was cancelled on the way",
    ),
    Lost(("builtins.MemoryError", "builtins.RecursionError"), "the interpreter gave out on the way"),
)
"""Which exceptions of a tool that is not pure are a loss and no failure; beside these all that is no ``Exception``."""


def why_lost(error: BaseException) -> str:
    """Return what an exception leaves open, or the empty text if it is the tool's account of an end."""
    for one in _members(error):
        names = {_full_name(kind) for kind in type(one).__mro__}
        for row in LOST:
            if names.intersection(row.names):
                return row.why
        if not isinstance(one, Exception):
            return "it was interrupted on the way"
    return ""


def _full_name(kind: type) -> str:
    # Libraries move their classes about: the public name is the one under the top package.
    module = kind.__module__
    top = module.split(".")[0]
    return f"{top if top in _RE_EXPORTED else module}.{kind.__qualname__}"


_RE_EXPORTED = frozenset({"anyio", "httpcore", "httpx", "ssl", "trio"})


def _members(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _members(one)
    else:
        yield error


def describe(error: BaseException) -> str:
    """Return type and message of an exception, those of a group one after the other."""
    found = list(_members(error))
    return "; ".join(_describe_one(one) for one in found)


def _describe_one(error: BaseException) -> str:
    message = str(error)
    if isinstance(error, ToolError | OutcomeUnknown):
        return message or type(error).__name__
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
