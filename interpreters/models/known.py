"""The dialects that are known, by name."""

from __future__ import annotations

from collections.abc import Mapping

from interpreters.models.anthropic_decode import AnthropicFolder
from interpreters.models.anthropic_encode import VERSION, encode_anthropic
from interpreters.models.chat_decode import ChatFolder
from interpreters.models.chat_encode import encode_chat
from interpreters.models.dialects import Dialect
from interpreters.models.responses_decode import ResponsesFolder
from interpreters.models.responses_encode import encode_responses

CHAT = Dialect("chat", "/chat/completions", encode_chat, ChatFolder)
"""OpenAI chat-completions, and everything that is compatible with it."""

ANTHROPIC = Dialect("anthropic", "/messages", encode_anthropic, AnthropicFolder, {"anthropic-version": VERSION})
"""Anthropic messages, and what is compatible with them."""

RESPONSES = Dialect("responses", "/responses", encode_responses, ResponsesFolder)
"""OpenAI Responses."""

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (CHAT, ANTHROPIC, RESPONSES)}
"""The dialects by name."""
