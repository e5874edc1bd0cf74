"""The instrumented tools as an MCP server on standard input and output: ``python -m interpreters.check.mcp URL``.

It holds nothing itself: every call goes to the tools URL, where it is counted, so that the truth outlives this process.
It speaks JSON-RPC 2.0, one message a line: ``initialize``, ``ping``, ``tools/list``, ``tools/call``, and the
notification ``notifications/cancelled``, after which a call is not answered any more.

SIGINT is for the program that started it: this server ends when its input does.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import httpx

from interpreters.support import osio

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol versions that are spoken, newest first."""

_CHUNK = 1 << 16
_PATIENCE_S = 60.0
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS, _INTERNAL = -32700, -32600, -32601, -32602, -32603

Json = dict[str, Any]
"""A JSON object."""


class _Wrong(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Server:
    """One connection, over the standard streams of this process."""

    def __init__(self, tools_url: str) -> None:
        self._url = tools_url.rstrip("/")
        self._running: dict[str, anyio.CancelScope] = {}
        self._turn = anyio.Lock()

    async def serve(self) -> None:
        """Answer until the input ends; what still runs then is left."""
        rest = b""
        async with (
            httpx.AsyncClient(timeout=_PATIENCE_S, trust_env=False) as client,
            anyio.create_task_group() as tasks,
        ):
            while piece := await anyio.to_thread.run_sync(osio.read_some, 0, _CHUNK, abandon_on_cancel=True):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.strip():
                        await self._take(client, tasks, line)
            tasks.cancel_scope.cancel()

    async def _take(self, client: httpx.AsyncClient, tasks: anyio.abc.TaskGroup, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._say({"id": None, "error": {"code": _PARSE_ERROR, "message": "this line is no JSON"}})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if not (isinstance(message, dict) and ("result" in message or "error" in message)):
                await self._say({"id": None, "error": {"code": _INVALID_REQUEST, "message": "expected a request"}})
        elif "id" in message:
            tasks.start_soon(self._answer, client, message)
        elif message["method"] == "notifications/cancelled":
            scope = self._running.get(_key(_params(message).get("requestId")))
            if scope is not None:
                scope.cancel()

    async def _answer(self, client: httpx.AsyncClient, message: Json) -> None:
        with anyio.CancelScope() as scope:
            self._running[_key(message["id"])] = scope
            try:
                told: Json = {"result": await self._do(client, message["method"], _params(message))}
            except _Wrong as error:
                told = {"error": {"code": error.code, "message": str(error)}}
            except httpx.HTTPError as error:
                # Whether the deed was done cannot be told from here, and is not guessed.
                told = {"error": {"code": _INTERNAL, "message": f"the outcome is unknown: {type(error).__name__}"}}
            await self._say({"id": message["id"], **told})
        self._running.pop(_key(message["id"]), None)

    async def _do(self, client: httpx.AsyncClient, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                return {
                    "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {"listChanged": False}},
                    "serverInfo": {"name": "agentcore-check", "version": "1"},
                }
            case "ping":
                return {}
            case "tools/list":
                listed = (await client.get(self._url)).json()["tools"]
                return {"tools": [_tool(each) for each in listed]}
            case "tools/call":
                return await self._call(client, params)
            case _:
                raise _Wrong(_NO_METHOD, f"there is no method {method!r:.60}")

    async def _call(self, client: httpx.AsyncClient, params: Json) -> Json:
        name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise _Wrong(_INVALID_PARAMS, "expected the name of a tool and an object of arguments")
        key = meta.get("agentcore/key", "") if isinstance(meta, dict) else ""
        body = {"name": name, "arguments": arguments, "key": key}
        answer = (await client.post(f"{self._url}/call", json=body)).json()
        words = str(answer.get("result") or answer.get("error"))
        return {"content": [{"type": "text", "text": words}], "isError": "error" in answer}

    async def _say(self, message: Json) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        async with self._turn:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(osio.write_all, 1, data)


def _key(request_id: Any) -> str:
    return json.dumps(request_id)


def _params(message: Mapping[str, Any]) -> Json:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _tool(told: Json) -> Json:
    return {"name": told["name"], "description": told["description"], "inputSchema": told["parameters"]}


def main(arguments: list[str]) -> int:
    """Serve until the input ends; the tools URL is the argument, or ``AGENTCORE_CHECK_TOOLS_URL``."""
    url = arguments[0] if arguments else osio.environment().get("AGENTCORE_CHECK_TOOLS_URL", "")
    if not url:
        osio.write_all(2, b"agentcore check mcp: no tools URL was given\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    anyio.run(Server(url).serve)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
