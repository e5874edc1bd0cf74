"""Compressed bodies, unpacked as they come and never beyond a cap.

We ask for none (a compressor holds back what a stream should show), but some proxies compress whatever they are asked.
"""

from __future__ import annotations

import zlib

from interpreters.models.failures import Failure, WireFault
from interpreters.models.faults import Fault

_PLAIN = frozenset({"", "identity"})
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
# Window bits that make zlib look for either of its two headers.
_EITHER_HEADER = 32 + zlib.MAX_WBITS


class Inflater:
    """Unpacks the pieces of one body. Raises ``WireFault``."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self.plain = self._encoding in _PLAIN
        """Whether there is nothing to unpack."""
        self._stream = zlib.decompressobj(_EITHER_HEADER)

    def feed(self, chunk: bytes, limit: int) -> bytes:
        """Return what the chunk unpacks to; more than ``limit`` bytes only by one, which tells that there is more."""
        if self.plain:
            return chunk
        if self._encoding not in _ZLIB:
            raise WireFault(Failure(Fault.PROTOCOL, f"the answer is compressed with {self._encoding!r}, expected gzip"))
        found = []
        try:
            while chunk and limit >= 0:
                found.append(self._stream.decompress(chunk, limit + 1))
                limit -= len(found[-1])
                chunk = self._stream.unused_data
                if self._stream.eof:
                    self._stream = zlib.decompressobj(_EITHER_HEADER)
        except zlib.error as error:
            raise WireFault(Failure(Fault.MALFORMED_STREAM, f"the compressed answer is broken: {error}")) from error
        return b"".join(found)
