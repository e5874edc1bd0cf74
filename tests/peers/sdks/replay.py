"""A server on loopback that answers a request for ``/ID/…`` with the bytes of the recorded answer ``ID``."""

from __future__ import annotations

import base64
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

HANG_S = 3.0
"""How long an answer that never ends is held open."""


@contextmanager
def replaying(fixtures: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Serve until the block ends; the value is the address in front of the id."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, fixtures), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, fixtures: Mapping[str, dict[str, Any]]) -> None:
    with suppress(OSError):
        while True:
            threading.Thread(target=_answer, args=(listener.accept()[0], fixtures), daemon=True).start()


def _answer(client: socket.socket, fixtures: Mapping[str, dict[str, Any]]) -> None:
    with client, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        head, _, body = head.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        length = next((int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:")), 0)
        while len(body) < length:
            body += client.recv(65536)
        fixture = fixtures[lines[0].split()[1].split("/")[1]]
        headers = {**fixture["headers"], "connection": "close"}
        written = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        client.sendall(f"HTTP/1.1 {fixture['status']} X\r\n{written}\r\n".encode("latin-1"))
        _play(client, fixture["steps"])


def _play(client: socket.socket, steps: list[dict[str, Any]]) -> None:
    for step in steps:
        if "b64" in step:
            client.sendall(base64.b64decode(step["b64"]))
        elif "sleep" in step:
            time.sleep(min(step["sleep"], HANG_S))
        elif step["end"] == "hang":
            time.sleep(HANG_S)
        elif step["end"] == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
