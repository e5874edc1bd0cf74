"""A small, correct agent of the standard library alone, in three dialects. The broken ones change one method of it."""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

DIALECT = os.environ.get("AGENT_DIALECT", "chat")
STREAMS = os.environ.get("AGENT_STREAMS", "yes") == "yes"
TOOLS_URL = os.environ["AGENTCORE_CHECK_TOOLS_URL"]


class Again(Exception):
    """The model's answer was no answer."""


class GiveUp(Exception):
    """Asking again does not help."""


class Loop:
    """Its history is a list of turns of three kinds: what the user, the model and the tools said."""

    rounds_max, tries_max, parallel = 30, 6, True

    def __init__(self):
        self.file = Path(os.environ["AGENTCORE_CHECK_DIR"]) / "history.json"
        self.history = []
        self.tools = json.loads(get(TOOLS_URL))["tools"]

    def main(self):
        resumed = "--resume" in sys.argv and self.file.exists()
        self.history = json.loads(self.file.read_text()) if resumed else []
        try:
            if not resumed:
                self.add({"role": "user", "text": os.environ["AGENTCORE_CHECK_PROMPT"]})
            self.turn()
        except GiveUp as error:
            print("gave up:", error)
        except KeyboardInterrupt:
            os._exit(130)

    def add(self, item):
        self.history.append(item)
        self.save()

    def save(self):
        other = self.file.with_suffix(".new")
        other.write_text(json.dumps(self.history))
        other.replace(self.file)

    def turn(self):
        for _ in range(self.rounds_max):
            if self.history[-1].get("calls"):
                self.add({"role": "tool", "results": self.act(self.history[-1])})
            if self.history[-1]["role"] == "assistant":
                return
            self.add(self.take(self.ask()))

    # The model

    def ask(self):
        for number in range(self.tries_max):
            try:
                reply = self.decode(self.post())
                self.check_end(reply)
                if reply["text"] or reply["calls"]:
                    return reply
            except (Again, OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError):
                time.sleep(0.02 * number)
        raise GiveUp("no answer")

    def check_end(self, reply):
        if reply["label"] is None:
            raise Again

    def take(self, reply):
        """Ids that are missing or come twice are made anew: they are only names on the wire."""
        known = {call["id"] for item in self.history for call in item.get("calls", ())}
        for place, call in enumerate(reply["calls"]):
            if not call["id"] or call["id"] in known:
                call["id"] = f"again_{len(self.history)}_{place}"
            known.add(call["id"])
        return {"role": "assistant", **reply}

    def post(self):
        base = os.environ["ANTHROPIC_BASE_URL"] + "/v1" if DIALECT == "anthropic" else os.environ["OPENAI_BASE_URL"]
        return request(base + PATHS[DIALECT], {"model": "m", "stream": STREAMS, **self.encode()})

    def encode(self):
        return ENCODE[DIALECT](self.history, self.tools)

    def decode(self, answer):
        return DECODE[DIALECT](events(answer) if STREAMS else json.loads(answer))

    # The tools

    def act(self, said):
        calls = said["calls"]
        found = [None] * len(calls)

        def one(place):
            content = "not run: the message was cut" if self.was_cut(said) else self.perform(calls[place], place)
            found[place] = {"id": calls[place]["id"], "content": content}

        threads = [threading.Thread(target=one, args=(place,), daemon=True) for place in range(len(calls))]
        for thread in threads:
            thread.start()
            if not self.parallel:
                thread.join()
        for thread in threads:
            thread.join()
        return found

    def was_cut(self, said):
        """The label says so, or arguments end in the middle."""
        return said["label"] in CUT or any(ends_early(call["arguments"]) for call in said["calls"])

    def perform(self, call, place):
        tool = next((each for each in self.tools if each["name"] == call["name"]), None)
        arguments = self.arguments(call)
        if tool is None or not isinstance(arguments, dict):
            return "not run: no such tool, or no such arguments"
        if tool["needs_approval"] and not self.allowed(call["name"], arguments):
            return "not run: refused"
        return self.execute(call["name"], arguments, f"{len(self.history)}.{place}")

    def arguments(self, call):
        try:
            return json.loads(call["arguments"])
        except ValueError:
            return None

    def allowed(self, name, arguments):
        return json.loads(request(TOOLS_URL + "/approvals", {"name": name, "arguments": arguments}))["approved"]

    def execute(self, name, arguments, key):
        try:
            body = {"name": name, "arguments": arguments, "key": key}
            return json.loads(request(TOOLS_URL + "/call", body))["result"]
        except urllib.error.HTTPError as error:
            return f"failed: {error.read().decode()}"
        except (OSError, http.client.HTTPException) as error:
            return f"the outcome is unknown: {type(error).__name__}"


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        try:
            return answer.read()
        except http.client.IncompleteRead as error:
            return error.partial


def request(url, body):
    data = json.dumps(body).encode()
    try:
        return get(urllib.request.Request(url, data, {"content-type": "application/json"}))
    except urllib.error.HTTPError as error:
        if error.code == 400:
            raise GiveUp(error.read().decode()) from error
        raise


def events(answer):
    lines = (line[5:].strip() for line in answer.decode().split("\n") if line.startswith("data:"))
    return [json.loads(line) for line in lines if line != "[DONE]"]


def ends_early(arguments):
    try:
        json.loads(arguments)
    except ValueError as error:
        return error.pos >= len(arguments) or "Unterminated" in error.msg
    return False


def proper(arguments):
    """Arguments as a provider takes them back: a slip is replaced."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"


# --- chat-completions


def encode_chat(history, tools):
    messages = []
    for item in history:
        if item["role"] == "tool":
            messages += [{"role": "tool", "tool_call_id": r["id"], "content": r["content"]} for r in item["results"]]
            continue
        message = {"role": item["role"], "content": item["text"]}
        if item.get("calls"):
            message["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": proper(c["arguments"])},
                }
                for c in item["calls"]
            ]
        messages.append(message)
    kept = [{"type": "function", "function": {k: t[k] for k in ("name", "description", "parameters")}} for t in tools]
    return {"messages": messages, "tools": kept}


def decode_chat(told):
    if isinstance(told, dict):
        choice = told["choices"][0]
        calls = [{"id": c["id"], **c["function"]} for c in choice["message"].get("tool_calls") or ()]
        return {"text": choice["message"]["content"] or "", "calls": calls, "label": choice["finish_reason"]}
    text, calls, label = "", {}, None
    for chunk in told:
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
            label = choice["finish_reason"] or label
            for part in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] = part.get("id") or call["id"]
                call["name"] += part["function"].get("name") or ""
                call["arguments"] += part["function"]["arguments"]
    return {"text": text, "calls": list(calls.values()), "label": label}


# --- Responses


def encode_responses(history, tools):
    entries = []
    for item in history:
        if item["role"] == "tool":
            results = item["results"]
            entries += [{"type": "function_call_output", "call_id": r["id"], "output": r["content"]} for r in results]
            continue
        if item["text"]:
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            entries.append({"role": item["role"], "content": [{"type": kind, "text": item["text"]}]})
        entries += [
            {"type": "function_call", "call_id": c["id"], "name": c["name"], "arguments": proper(c["arguments"])}
            for c in item.get("calls", ())
        ]
    kept = [{"type": "function", **{k: t[k] for k in ("name", "description", "parameters")}} for t in tools]
    return {"input": entries, "tools": kept, "store": False}


def decode_responses(told):
    if isinstance(told, dict):
        output, label = told["output"], told["status"]
    else:
        output, label = [], None
        for event in told:
            if event["type"] == "response.output_item.added":
                output.append(event["item"])
            elif event["type"] == "response.function_call_arguments.done":
                output[-1]["arguments"] = event["arguments"]
            elif event["type"] == "response.output_text.done":
                output[-1]["content"] = [{"text": event["text"]}]
            elif event["type"] in ("response.completed", "response.incomplete"):
                label = event["response"]["status"]
    calls = [
        {"id": e["call_id"], "name": e["name"], "arguments": e["arguments"]}
        for e in output
        if e["type"] == "function_call"
    ]
    text = "".join(part["text"] for e in output if e["type"] == "message" for part in e["content"])
    return {"text": text, "calls": calls, "label": label}


# --- Anthropic messages


def encode_anthropic(history, tools):
    messages = []
    for item in history:
        if item["role"] == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": r["id"], "content": r["content"]} for r in item["results"]]
            messages.append({"role": "user", "content": blocks})
            continue
        blocks = [{"type": "text", "text": item["text"]}] if item["text"] else []
        blocks += [
            {"type": "tool_use", "id": c["id"], "name": c["name"], "input": json.loads(proper(c["arguments"]))}
            for c in item.get("calls", ())
        ]
        messages.append({"role": item["role"], "content": blocks})
    kept = [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in tools]
    return {"messages": messages, "tools": kept, "max_tokens": 1000}


def decode_anthropic(told):
    if isinstance(told, dict):
        blocks, label = [{**b, "input": json.dumps(b.get("input"))} for b in told["content"]], told["stop_reason"]
    else:
        blocks, label = [], None
        for event in told:
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"], "input": ""})
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                blocks[-1]["text"] = blocks[-1].get("text", "") + delta.get("text", "")
                blocks[-1]["input"] += delta.get("partial_json", "")
            elif event["type"] == "message_delta":
                label = event["delta"]["stop_reason"]
    calls = [{"id": b["id"], "name": b["name"], "arguments": b["input"]} for b in blocks if b["type"] == "tool_use"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    return {"text": text, "calls": calls, "label": label}


CUT = ("length", "incomplete", "max_tokens")
PATHS = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}
ENCODE = {"chat": encode_chat, "responses": encode_responses, "anthropic": encode_anthropic}
DECODE = {"chat": decode_chat, "responses": decode_responses, "anthropic": decode_anthropic}
