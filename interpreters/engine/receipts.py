"""What became of an act of the host: a value, never an exception."""

from __future__ import annotations

import anyio
import attrs

from agentcore import Verdict
from agentcore.rejections import Rejection


@attrs.frozen
class Receipt:
    """The verdict on an act."""

    verdict: Verdict
    """Accepted, ignored (it was known already, or means nothing here), or rejected."""
    seq: int
    """Seq of the newest accepted event behind it."""
    event: str = ""
    """Class name of the event the act became."""
    reason: str = ""
    """Why it was ignored, or the code of the rejection."""
    rejection: Rejection | None = None
    """Why it was refused, and what would have been legal; only with ``REJECTED``."""

    @property
    def accepted(self) -> bool:
        """Whether it changed the session."""
        return self.verdict is Verdict.ACCEPTED

    def __str__(self) -> str:
        if self.rejection is not None:
            return str(self.rejection)
        return f"{self.event}: {self.verdict.value}" + (f" ({self.reason})" if self.reason else "")


class SessionOver(Exception):
    """The session was closed before the act was judged."""

    def __str__(self) -> str:
        return "the session is over and the act was not judged: resume the session and act again"


class Reply:
    """A receipt that comes later."""

    def __init__(self) -> None:
        self._told = anyio.Event()
        self._receipt: Receipt | None = None
        self._error: Exception = SessionOver()

    def tell(self, receipt: Receipt) -> None:
        """Say what became of it."""
        self._receipt = receipt
        self._told.set()

    def fail(self, error: Exception) -> None:
        """Say why it was not judged."""
        self._error = error
        self._told.set()

    async def wait(self) -> Receipt:
        """Return the receipt; raises what it failed with if there will be none."""
        await self._told.wait()
        if self._receipt is None:
            raise self._error
        return self._receipt
