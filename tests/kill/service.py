"""A service on the other side of a network: it does each thing once for each key, and counts what reaches it.

It lives in the process of the tests, so no kill of an agent touches it. A *world* is the name of one run's account, so
that many runs can be under way at once, and a run can go on twice from the same point.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import attrs


@attrs.define
class Account:
    """What reached the service in one world."""

    deliveries: Counter[str] = attrs.Factory(Counter)
    """Requests, by key."""
    effects: Counter[str] = attrs.Factory(Counter)
    """What was done because of them, by key: the service lets none of these go beyond one."""


class Service:
    """The accounts, and the server in front of them."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._one_at_a_time = threading.Lock()
        self.port = 0

    def account(self, world: str) -> Account:
        """What reached the service in a world so far."""
        with self._one_at_a_time:
            return self._accounts.setdefault(world, Account())

    def copy(self, world: str, name: str) -> None:
        """Let another world begin with what was done in this one."""
        seen = self.account(world)
        with self._one_at_a_time:
            self._accounts[name] = Account(Counter(seen.deliveries), Counter(seen.effects))

    def deliver(self, world: str, key: str) -> str:
        """Do what was asked for, unless it was done for that key before."""
        account = self.account(world)
        with self._one_at_a_time:
            account.deliveries[key] += 1
            if not account.effects[key]:
                account.effects[key] += 1
            return f"delivered, number {len(account.effects)}"

    @contextmanager
    def listening(self) -> Iterator[Service]:
        """Answer on a port of the loopback for as long as the block lasts."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                order = json.loads(self.rfile.read(int(self.headers["content-length"])))
                said = service.deliver(order["world"], order["key"]).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_) -> None:
                """A client that was killed while it was answered is what this is all about."""

        with Server(("127.0.0.1", 0), Handler) as server:
            self.port = server.server_port
            listener = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            listener.start()
            try:
                yield self
            finally:
                server.shutdown()
                listener.join()


def post(port: int, world: str, key: str) -> str:
    """Ask for a delivery, as a client."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", "/", json.dumps({"world": world, "key": key}))
        return connection.getresponse().read().decode()
    finally:
        connection.close()
