"""A model server in a process of its own, on loopback: ``stream_server.py PORT``.

POST to ``/drip/N/…`` writes a chat-completions stream of N pieces, a little apart; ``/blast/N/…`` writes one that was
made beforehand, as fast as it is read. GET ``/open`` tells how many streams are being written.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

GAP_S = 0.002
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
END = b"0\r\n\r\n"
MADE: dict[int, bytes] = {}


def piece(number: int) -> bytes:
    """One event, with everything that a provider puts into each."""
    choice = {"index": 0, "delta": {"content": f" token{number % 1000}"}, "logprobs": None, "finish_reason": None}
    return event([choice])


def event(choices: list) -> bytes:
    """A chunk as an event, as one HTTP chunk."""
    said = {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion.chunk",
        "created": 1741569952,
        "model": "gpt-x-2026",
        "service_tier": "default",
        "system_fingerprint": "fp_50cad350e4",
        "choices": choices,
    }
    data = f"data: {json.dumps(said, separators=(',', ':'))}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST = event([{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]) + b"e\r\ndata: [DONE]\n\n\r\n"


def whole(count: int) -> bytes:
    """A stream of so many pieces, made once."""
    if count not in MADE:
        MADE[count] = b"".join(map(piece, range(count))) + LAST + END
    return MADE[count]


class Streams:
    """How many there are."""

    open = 0


async def write(path: str, writer: asyncio.StreamWriter) -> None:
    """Answer one request."""
    found = re.match(r"/(drip|blast)/(\d+)/", path)
    if found is None:
        said = str(Streams.open).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (len(said), said))
        return
    writer.write(HEAD)
    if found[1] == "blast":
        writer.write(whole(int(found[2])))
        await writer.drain()
        return
    for number in range(int(found[2])):
        writer.write(piece(number))
        await writer.drain()
        await asyncio.sleep(GAP_S)
    writer.write(LAST + END)
    await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take one connection, which has one request."""
    Streams.open += 1
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        path = head.split()[1]
        Streams.open -= path == "/open"
        await write(path, writer)
        Streams.open += path == "/open"
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        Streams.open -= 1
        writer.close()


async def main() -> None:
    """Listen until the process is ended."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
