"""The correct one, with its tools from the MCP server."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import threading

from kit import Loop


class UsesMcp(Loop):
    """One call at a time goes over the pipe; a lock keeps question and answer together."""

    def __init__(self):
        super().__init__()
        command = shlex.split(os.environ["AGENTCORE_CHECK_MCP"])
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        self.ask_server("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
        asks = {tool["name"]: tool["needs_approval"] for tool in self.tools}
        listed = self.ask_server("tools/list", {})["result"]["tools"]
        self.tools = [{**t, "parameters": t["inputSchema"], "needs_approval": asks[t["name"]]} for t in listed]

    def ask_server(self, method, params):
        with self.lock:
            message = {"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": params}
            self.server.stdin.write(json.dumps(message).encode() + b"\n")
            self.server.stdin.flush()
            return json.loads(self.server.stdout.readline())

    def execute(self, name, arguments, key):
        params = {"name": name, "arguments": arguments, "_meta": {"agentcore/key": key}}
        answer = self.ask_server("tools/call", params)
        return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"]


UsesMcp().main()
