"""Broken: what the model got wrong goes back as it came, and no provider takes that."""

from __future__ import annotations

from kit import Loop


class SendsSlipsBack(Loop):
    def encode(self):
        body = super().encode()
        for message in body.get("messages", body.get("input")):
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = "[]" if call["function"]["arguments"] == "{}" else "{}"
            if message.get("type") == "function_call" and message["arguments"] == "{}":
                message["arguments"] = "oops"
            for block in message["content"] if isinstance(message.get("content"), list) else ():
                if block["type"] == "tool_use" and not block["input"]:
                    block["input"] = "oops"
        return body


SendsSlipsBack().main()
