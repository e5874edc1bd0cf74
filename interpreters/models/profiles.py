"""The families of providers, as data: where each is found, and how it deviates from the dialect it speaks.

Nothing else in this package asks who a provider is. What a row does not mention is as the dialect has it. The rows were
collected from the providers' reference pages and SDKs, and for servers of one's own from their sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from interpreters.models import codes
from interpreters.models.faults import Fault

ANY_ID = r"[!-~]{1,200}"
"""What ids of calls have to look like where a provider asks for nothing stricter."""


@attrs.frozen
class Profile:
    """One family of providers."""

    name: str
    """What stands before the colon of a named model."""
    dialect: str = "chat"
    """Which dialect it speaks: ``chat``, ``responses`` or ``anthropic``."""
    base_url: str = ""
    """Where it listens, without the path of the dialect; empty where every customer has an address of their own."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, the usual one first."""
    needs_key: bool = True
    """Whether nothing is answered without a key."""
    url_variables: tuple[str, ...] = ()
    """Environment variables that may hold the address, the usual one first."""
    url_suffix: str = ""
    """What an address out of such a variable has to end with; added where it is missing."""
    key_header: str = "authorization"
    """Header field that carries the key; in ``authorization`` it stands behind ``Bearer``."""
    max_tokens_field: str = "max_tokens"
    """What the bound of the answer's tokens is called in chat-completions."""
    stream_options: bool = True
    """Whether ``stream_options`` may be sent, which asks for usage; else usage comes unasked, or not at all."""
    role: Literal["system", "developer"] = "system"
    """Role of instructions in chat-completions."""
    reasoning_field: str = ""
    """Name under which earlier thinking is sent back; empty: the one it came by."""
    reasoning_span: Literal["all", "turn", "none"] = "all"
    """Which earlier thinking is sent back: all, what came since the user last spoke, or none."""
    parallel_switch: bool = True
    """Whether ``parallel_tool_calls`` is understood; else it is left out."""
    thinking_models: str = "(?!)"
    """Pattern of the names of models whose thinking comes as a cipher that has to be asked for, in Responses."""
    forced_choice: str = "required"
    """The tool choice by which some tool has to be used; empty where there is none: then it is left out."""
    cache_hints: bool = False
    """Whether ``cache_control`` on parts is understood; else it is left out."""
    id_pattern: str = ANY_ID
    """What ids of calls have to look like; any other is sent as one of our own."""
    user_after_tool: bool = True
    """Whether a user may speak directly after a result; else a word of the assistant is put between."""
    codes: Mapping[str, Fault] = attrs.field(factory=dict)
    """Error codes that mean something only here, in lower case; looked at before the common tables."""

    def authorised(self, api_key: str) -> dict[str, str]:
        """Return the header field that carries a key; nothing for an empty one."""
        key = api_key.strip()
        if not key:
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header == "authorization" else key}


_OPENAI = Profile(
    "openai",
    base_url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    url_variables=("OPENAI_BASE_URL",),
    max_tokens_field="max_completion_tokens",
    role="developer",
    id_pattern="[!-~]{1,40}",
    thinking_models=r"o\d|gpt-[5-9]|codex|computer-use",
)

_AZURE = attrs.evolve(
    _OPENAI,
    name="azure",
    base_url="",
    key_variables=("AZURE_OPENAI_API_KEY",),
    url_variables=("AZURE_OPENAI_ENDPOINT",),
    url_suffix="/openai/v1",
    key_header="api-key",
    codes=codes.AZURE,
)

_ZHIPU = Profile(
    "zhipu",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    key_variables=("ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
    parallel_switch=False,
    forced_choice="",
    codes=codes.ZHIPU,
)

DEFAULT = Profile("compatible", needs_key=False, cache_hints=True)
"""A server of which nothing is known but its dialect."""

_ROWS = (
    _OPENAI,
    attrs.evolve(_OPENAI, name="openai-responses", dialect="responses", id_pattern="[!-~]{1,64}"),
    _AZURE,
    attrs.evolve(_AZURE, name="azure-responses", dialect="responses", id_pattern="[!-~]{1,64}"),
    Profile(
        "anthropic",
        dialect="anthropic",
        base_url="https://api.anthropic.com/v1",
        key_variables=("ANTHROPIC_API_KEY",),
        url_variables=("ANTHROPIC_BASE_URL",),
        url_suffix="/v1",
        key_header="x-api-key",
        cache_hints=True,
        id_pattern="[a-zA-Z0-9_-]{1,64}",
    ),
    Profile(
        "deepseek",
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        reasoning_field="reasoning_content",
        reasoning_span="turn",
        parallel_switch=False,
    ),
    _ZHIPU,
    attrs.evolve(_ZHIPU, name="zai", base_url="https://api.z.ai/api/paas/v4", key_variables=("ZAI_API_KEY",)),
    Profile(
        "qwen",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY", "QWEN_API_KEY"),
        reasoning_span="turn",
        forced_choice="",
        cache_hints=True,
        codes=codes.QWEN,
    ),
    Profile(
        "mistral",
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        stream_options=False,
        forced_choice="any",
        id_pattern="[a-zA-Z0-9]{9}",
        user_after_tool=False,
        codes=codes.MISTRAL,
    ),
    Profile(
        "openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        cache_hints=True,
        codes=codes.OPENROUTER,
    ),
    Profile("vllm", base_url="http://localhost:8000/v1", key_variables=("VLLM_API_KEY",), needs_key=False),
    Profile("llamacpp", base_url="http://localhost:8080/v1", key_variables=("LLAMA_API_KEY",), needs_key=False),
    Profile(
        "ollama",
        base_url="http://localhost:11434/v1",
        key_variables=("OLLAMA_API_KEY",),
        needs_key=False,
        url_variables=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        url_suffix="/v1",
        parallel_switch=False,
    ),
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in _ROWS}
"""The families by name."""
