"""Any model of pydantic-ai as one of ours: every provider that it has. Needs the extra ``pydantic-ai``.

```python
from pydantic_ai.models.google import GoogleModel
from interpreters.models.pydantic_ai import PydanticAIModel

Agent(model=PydanticAIModel(GoogleModel("gemini-…")), tools=[...])
```

Only pydantic-ai's models are used, not its agents: tools, retries, limits and history stay ours. What is lost on the
way stands in ``docs/pydantic-ai.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

try:
    from pydantic_ai import direct, messages, models
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage
except ImportError as missing:
    raise ImportError(
        f"models of pydantic-ai need a package that is not installed ({missing.name}): "
        "pip install 'agentcore-reducer[pydantic-ai]'"
    ) from missing

from agentcore.events import ModelFailed, ModelReplied, ModelStopped
from agentcore.messages import FinishReason, Usage, clean_text
from interpreters.models.failures import Failure
from interpreters.models.faults import Fault
from interpreters.models.patience import Timeouts
from interpreters.models.prices import ListedPrices, Pricing
from interpreters.models.pydantic_ai_failures import failure_of
from interpreters.models.pydantic_ai_messages import label_of, metadata_for, reply_of, requests_of, tools_of
from interpreters.models.writing import Options, read_options
from interpreters.support.ports_model import ModelDelta, ModelRun, ReasoningDelta, TextDelta
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor
from interpreters.support.stopping import until_stopped

_FINISHES: Mapping[str, FinishReason] = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "tool_call": FinishReason.TOOL_CALLS,
}

_INVENTS_STOP = "OpenAIChatModel"
"""The class, known by name since it needs one more package, that says ``stop`` of an answer without any label."""


class PydanticAIModel:
    """Answers requests by a model of pydantic-ai, each attempt sent once (D-13).

    ``settings.options`` of a request are that library's model settings (``temperature``, ``thinking``,
    ``extra_body`` …); ``settings.model`` is not used, for the model is chosen.
    """

    def __init__(
        self,
        model: models.Model[Any] | str,
        *,
        stream: bool = True,
        states_end: bool | None = None,
        prices: Pricing | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        """Take a model, or its name as pydantic-ai reads it.

        ``stream=False`` asks for whole answers. ``states_end``: whether the provider always says why it finished, so
        that an answer without that was cut; if not given, whether the model has a provider. ``prices``: without them
        those of the list. ``secrets`` are taken out of messages of failures, beside the key of the model's client.
        """
        self._model = models.infer_model(model)
        self._stream = stream
        self._states_end = self._model.provider is not None if states_end is None else states_end
        self._invents = any(kind.__name__ == _INVENTS_STOP for kind in type(self._model).__mro__)
        self._prices = prices
        found = (*secrets, *_keys(self._model))
        self.secrets = tuple(value for value in found if len(value) >= VALUE_LENGTH_MIN)
        """What must be shown nowhere."""

    @property
    def base_url(self) -> str:
        """Where it asks, as far as pydantic-ai tells."""
        return self._model.base_url or ""

    def __repr__(self) -> str:
        return f"PydanticAIModel({self._model.model_id!r})"

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Send the request once and return how it ended."""
        attempt = _Attempt(run)
        finished = await until_stopped(run.stop, lambda: self._work(attempt))
        failure = attempt.failure or self._cut(attempt.answer)
        if not finished and (attempt.answer is None or not attempt.whole):
            return run.stopped(attempt.text, self._usage(attempt.answer))
        if failure is not None or attempt.answer is None:
            return self._failed(attempt, failure or Failure(Fault.DEFECT, "nothing came"))
        return self._replied(run, attempt.answer)

    async def _work(self, attempt: _Attempt) -> None:
        try:
            await self._ask(attempt)
        except Exception as error:  # noqa: BLE001 - a model never raises (R-082): whatever a library raises is classified
            attempt.failure = failure_of(error, attempt.run.now())

    async def _ask(self, attempt: _Attempt) -> None:
        view = attempt.run.view
        written = requests_of(view, self._model.model_id)
        options = read_options(view.settings)
        try:
            fresh = await attempt.run.credentials()
            attempt.secrets = tuple(fresh.values())
            # Options are the host's: the model reads of them what it knows.
            wanted = self._habits() | _settings(options, fresh)
            settings = cast("ModelSettings", dict(await attempt.run.converted(wanted)))
        except Exception as error:  # noqa: BLE001 - a hook of the host may raise anything, and that is said
            attempt.failure = Failure(Fault.HOOK_FAILED, f"a hook failed: {type(error).__name__}: {error}")
            return
        parameters = models.ModelRequestParameters(function_tools=tools_of(view.tools))
        if self._stream:
            await _follow(attempt, self._opened(written, settings, parameters))
            return
        attempt.answer = await direct.model_request(
            self._model, written, model_settings=settings, model_request_parameters=parameters
        )
        attempt.run.opened()
        attempt.whole = True
        for part in attempt.answer.parts:
            attempt.show(part)

    def _habits(self) -> dict[str, Any]:
        """Return what holds unless the options say otherwise: sent once (D-13), and given up when it is silent."""
        return {"max_retries": 0} | ({"timeout": Timeouts().idle_s} if self._stream else {})

    def _opened(self, written: Any, settings: ModelSettings, parameters: models.ModelRequestParameters) -> Any:
        return direct.model_request_stream(
            self._model, written, model_settings=settings, model_request_parameters=parameters
        )

    def _cut(self, answer: messages.ModelResponse | None) -> Failure | None:
        """Return the failure that an answer tells of by its state or its label."""
        if answer is None:
            return None
        if answer.state != "complete":
            return Failure(Fault.TRUNCATED_STREAM, f"the answer is {answer.state}, not complete")
        if answer.finish_reason == "error":
            return Failure(Fault.SERVER, "the provider ended the answer with an error")
        invented = self._invents and answer.finish_reason == "stop" and not label_of(answer)
        if self._states_end and (answer.finish_reason is None or invented):
            told = "the stream ended before the model said that it had finished"
            return Failure(Fault.TRUNCATED_STREAM, told)
        return None

    def _replied(self, run: ModelRun, answer: messages.ModelResponse) -> ModelReplied:
        reply = reply_of(answer, _FINISHES.get(answer.finish_reason or "", FinishReason.UNKNOWN))
        return run.replied(
            reply.parts,
            finish=reply.finish,
            usage=self._usage(answer),
            model=reply.model or self._model.model_name,
            metadata=metadata_for(self._model.model_id, reply),
        )

    def _failed(self, attempt: _Attempt, failure: Failure) -> ModelFailed:
        words = f"{self._model.model_id}: {failure.message}"
        secrets = [form for each in attempt.secrets for form in (each, each.rpartition(" ")[2])]
        hidden = Redactor([*self.secrets, *(form for form in secrets if len(form) >= VALUE_LENGTH_MIN)])
        return attempt.run.failed(
            failure.kind,
            clean_text(hidden.redact(words)),
            status=failure.status,
            code=failure.fault.value,
            retry_after_ms=failure.retry_after_ms,
            output_shown=attempt.shown,
            usage=self._usage(attempt.answer),
        )

    def _usage(self, answer: messages.ModelResponse | None) -> Usage:
        if answer is None:
            return Usage()
        prices = self._prices or ListedPrices(answer.provider_url or self.base_url)
        own = _priced(usage_of(answer.usage), prices, answer.model_name or self._model.model_name)
        # A fallback asks several models in one attempt of ours; those that failed count too.
        others = [usage_of(each.usage or RequestUsage()) for each in answer.failed_attempts or ()]
        total = sum(others, own)
        known = all(each.cost_micros is not None for each in (own, *others))
        return total if known else attrs.evolve(total, cost_micros=None)


def _priced(told: Usage, prices: Pricing, model: str) -> Usage:
    return told if told.cost_micros is not None else attrs.evolve(told, cost_micros=prices.of(told, model))


def usage_of(told: RequestUsage) -> Usage:
    """Return what was consumed; pydantic-ai has zero where nothing was told, so that zero tells nothing here."""
    if told.unmeasured_requests or not (told.input_tokens or told.output_tokens):
        return Usage()
    reasoning = told.output_reasoning_tokens or told.details.get("reasoning_tokens")
    cost = None if told.cost is None else round(told.cost * 1_000_000)
    return Usage(
        told.input_tokens,
        told.output_tokens,
        told.cache_read_tokens or None,
        told.cache_write_tokens or None,
        reasoning or None,
        cost,
    )


@attrs.define
class _Attempt:
    """One attempt, and what came of it."""

    run: ModelRun
    answer: messages.ModelResponse | None = None
    whole: bool = False
    failure: Failure | None = None
    shown: bool = False
    text: str = ""
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    def show(self, part: object) -> None:
        """Show a piece of text or thinking."""
        delta: ModelDelta
        match part:
            case messages.TextPart(content=words) | messages.TextPartDelta(content_delta=words) if words:
                self.text += clean_text(words)
                delta = TextDelta(clean_text(words))
            case messages.ThinkingPart(content=words) | messages.ThinkingPartDelta(content_delta=words) if words:
                delta = ReasoningDelta(clean_text(words))
            case _:
                return
        self.shown = True
        self.run.show(delta)


async def _follow(attempt: _Attempt, opening: Any) -> None:
    """Show a stream as it comes, and keep what came of it, also where it breaks."""
    async with opening as stream:
        opened = False
        try:
            async for event in stream:
                if not opened:
                    opened = True
                    attempt.run.opened()
                if isinstance(event, messages.PartStartEvent):
                    attempt.show(event.part)
                elif isinstance(event, messages.PartDeltaEvent):
                    attempt.show(event.delta)
            attempt.whole = True
        finally:
            attempt.answer = stream.get()


def _settings(options: Options, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return what the options and the fields that authorise say, as pydantic-ai's settings."""
    found: dict[str, Any] = dict(options.rest)
    common = {"max_tokens": options.max_tokens, "parallel_tool_calls": options.parallel, "cache": options.cache}
    found |= {name: value for name, value in common.items() if value is not None}
    if options.tool_choice is not None:
        found["tool_choice"] = [options.forced] if options.forced else options.tool_choice
    if headers:
        found["extra_headers"] = {**found.get("extra_headers", {}), **headers}
    return found


def _keys(model: object) -> tuple[str, ...]:
    """Return the key that a model's client holds, where it holds one in the usual place."""
    key = getattr(getattr(model, "client", None), "api_key", None)
    return (key,) if isinstance(key, str) and key else ()
