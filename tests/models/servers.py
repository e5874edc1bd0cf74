"""Servers of others, as processes on loopback: started on a free port, waited for, and ended by their process id."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PATIENCE_S = 60
"""A busy machine starts a server slowly."""


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def call(method: str, url: str, body: object = None) -> tuple[int, object]:
    """Send one request, without any library that is under test; return the status and the JSON, if it is any."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, _json(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _json(error.read())


def _json(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode("utf-8", "replace")


@contextmanager
def process(command: Sequence[str], port: int) -> Iterator[str]:
    """Run a server for the length of a block; the address is given out once it listens."""
    with tempfile.TemporaryFile() as said:
        # No proxy of the environment is for loopback, and no colours are for a file.
        environment = {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
        try:
            until = time.monotonic() + PATIENCE_S
            while not _listens(port):
                if server.poll() is not None or time.monotonic() > until:
                    said.seek(0)
                    raise AssertionError(f"{command[0]} did not start: {said.read().decode('utf-8', 'replace')}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
