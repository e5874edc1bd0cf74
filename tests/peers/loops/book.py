"""The instrumented tools, for every peer alike: they ask for permission where it is needed, and say what came of it."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

PROMPT = os.environ["AGENTCORE_CHECK_PROMPT"]
PLACE = Path(os.environ["AGENTCORE_CHECK_DIR"])
TOOLS_URL = os.environ["AGENTCORE_CHECK_TOOLS_URL"]


def post(path, body):
    asked = urllib.request.Request(TOOLS_URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.loads(answer.read())


def write(name, entry, count, key=""):
    """Write an entry; ``key`` lets the other side drop a second request for the same deed."""
    arguments = {"entry": entry, "count": count}
    if name == "guarded" and not post("/approvals", {"name": name, "arguments": arguments})["approved"]:
        return "not done: refused by the user"
    body = {"name": name, "arguments": arguments} | ({"key": key} if key else {})
    try:
        return post("/call", body)["result"]
    except urllib.error.HTTPError as error:
        return f"failed: {json.loads(error.read())['error']}"
    except OSError as error:
        return f"nobody knows whether it was done: {error}"
