"""Run in an environment of its own: each client reads each answer, and one line of JSON says what it made of it."""

from __future__ import annotations

import asyncio
import json
import sys

import anthropic
import openai
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

ASKED = [{"role": "user", "content": "hi"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
NAMES = ("get_weather", "get_time", "f", "g", "search")
TIMEOUT = 2.5


def parsed(text):
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None


def chat(base):
    client = openai.OpenAI(base_url=base, api_key="k", max_retries=0, timeout=TIMEOUT)
    with client.chat.completions.stream(model="m", messages=ASKED) as stream:
        message = stream.get_final_completion().choices[0].message
    calls = [[call.function.name, parsed(call.function.arguments)] for call in message.tool_calls or ()]
    return message.content or "", calls


def responses(base):
    client = openai.OpenAI(base_url=base, api_key="k", max_retries=0, timeout=TIMEOUT)
    with client.responses.stream(model="m", input="hi") as stream:
        response = stream.get_final_response()
    calls = [[item.name, parsed(item.arguments)] for item in response.output if item.type == "function_call"]
    return response.output_text, calls


def messages(base):
    client = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0, timeout=TIMEOUT)
    with client.messages.stream(model="m", messages=ASKED, max_tokens=100) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, [[block.name, parsed(block.input)] for block in message.content if block.type == "tool_use"]


def by_pydantic_ai(dialect, base):
    if dialect == "anthropic":
        client = anthropic.AsyncAnthropic(base_url=base, api_key="k", max_retries=0, timeout=TIMEOUT)
        model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client))
    else:
        client = openai.AsyncOpenAI(base_url=base, api_key="k", max_retries=0, timeout=TIMEOUT)
        kind = OpenAIChatModel if dialect == "chat" else OpenAIResponsesModel
        model = kind("m", provider=OpenAIProvider(openai_client=client))
    tools = [ToolDefinition(name=name, description="", parameters_json_schema=PARAMETERS) for name in NAMES]

    async def read():
        given = ModelRequestParameters(function_tools=tools, allow_text_output=True)
        asked = [ModelRequest.user_text_prompt("hi")]
        async with model_request_stream(model, asked, model_request_parameters=given) as stream:
            async for _ in stream:
                pass
            answer = stream.get()
        text = "".join(part.content for part in answer.parts if isinstance(part, TextPart))
        return text, [[part.tool_name, parsed(part.args)] for part in answer.parts if isinstance(part, ToolCallPart)]

    return asyncio.run(asyncio.wait_for(read(), 10))


SDKS = {"chat": ("openai", chat), "responses": ("openai", responses), "anthropic": ("anthropic", messages)}


def made(read, *given):
    try:
        text, calls = read(*given)
    except Exception as error:
        return {"error": type(error).__name__}
    return {"text": text, "tools": calls}


def main():
    origin = sys.argv[1]
    for line in sys.stdin:
        name, dialect = line.split()
        base = f"{origin}/{name}"
        client, read = SDKS[dialect]
        print(json.dumps({"id": name, "client": client, **made(read, base)}), flush=True)
        print(json.dumps({"id": name, "client": "pydantic-ai", **made(by_pydantic_ai, dialect, base)}), flush=True)


main()
