"""A model server that answers with exactly the bytes it is told to, on loopback, for clients of either event loop.

It runs in threads, so that it is the same whatever the test runs on. Each request takes the next answer; a step of an
answer is bytes to write, a ``Pause``, or an end: ``CLEAN`` (the default), ``RESET``, or ``HANG`` until it closes.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

CLEAN, RESET, HANG = "clean", "reset", "hang"


@attrs.frozen
class Pause:
    """Wait, in seconds, or until the server closes."""

    seconds: float


@attrs.frozen
class Answer:
    """One HTTP answer."""

    steps: tuple[bytes | Pause | str, ...] = ()
    status: int = 200
    headers: dict[str, str] = attrs.field(factory=lambda: {"content-type": "text/event-stream"})


@attrs.frozen
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


def events(*chunks: Any, done: bool = True) -> tuple[bytes, ...]:
    """Chunks of a stream as server-sent events."""
    written = tuple(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    return (*written, b"data: [DONE]\n\n") if done else written


def chunk(delta: dict | None = None, finish: str | None = None, **beside: Any) -> dict:
    """One chunk of a chat-completions stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **beside}


def refusing_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class ByteServer:
    """Listens on a free port of 127.0.0.1."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.received: list[Received] = []
        self._answers = list(answers)
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._start(self._accept)

    def close(self) -> None:
        """Stop listening, let go of every connection, and wait for the threads."""
        self._closing.set()
        # Closing a listening socket does not wake a thread that waits in accept; a connection does.
        with socket.create_connection(self._listener.getsockname()):
            pass
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _start(self, work, *args) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._closing.is_set():
                connection.close()
                return
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                request = _read(connection)
                if request is None:
                    return
                self.received.append(request)
                self._write(connection, self._answers.pop(0))
            except OSError:
                # The client went away: that is what some tests are about.
                return

    def _write(self, connection: socket.socket, answer: Answer) -> None:
        fields = {**answer.headers, "transfer-encoding": "chunked", "connection": "close"}
        head = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        connection.sendall("\r\n".join(head).encode("latin-1"))
        for step in (*answer.steps, CLEAN):
            if isinstance(step, bytes):
                connection.sendall(b"%x\r\n%b\r\n" % (len(step), step))
            elif isinstance(step, Pause):
                self._closing.wait(step.seconds)
            elif step == HANG:
                self._closing.wait()
                return
            elif step == RESET:
                # What was written has to be read before the reset overtakes it.
                self._closing.wait(0.05)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            else:
                connection.sendall(b"0\r\n\r\n")
                return


def _read(connection: socket.socket) -> Received | None:
    with connection.makefile("rb") as stream:
        path = stream.readline().split(b" ")
        headers = {}
        while (line := stream.readline().strip()) and b":" in line:
            name, _, value = line.partition(b":")
            headers[name.decode().lower()] = value.strip().decode("latin-1")
        if len(path) < 2:
            return None
        body = stream.read(int(headers.get("content-length", 0)))
        return Received(path[1].decode(), headers, json.loads(body) if body else None)


@contextmanager
def serving(*answers: Answer) -> Iterator[ByteServer]:
    """A server for the length of a block."""
    server = ByteServer(answers)
    try:
        yield server
    finally:
        server.close()
