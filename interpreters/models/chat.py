"""A model behind the chat-completions interface: OpenAI's, and that of llama.cpp, vLLM, Ollama and many gateways."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import httpx

from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped
from agentcore.messages import MediaPart, Usage, UserMessage, clean_text
from agentcore.projections import RequestView
from interpreters.models.assembly import Reply
from interpreters.models.chat_decode import ChatFolder
from interpreters.models.chat_encode import encode_chat
from interpreters.models.clients import Client, OwnConnections, Places
from interpreters.models.exchange import Exchange, WireRequest
from interpreters.models.failures import Failure
from interpreters.models.faults import Fault
from interpreters.models.patience import Timeouts
from interpreters.models.prices import Pricing
from interpreters.models.writing import message_metadata
from interpreters.support.ports_model import ModelRun
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor
from interpreters.support.stopping import until_stopped

_PATH = "/chat/completions"


class _Refused(Exception):
    """A request that cannot be sent."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(fault, message)


class ChatModel:
    """Answers requests over HTTP, each attempt sent once (D-13); works on asyncio and trio.

    ``settings.model`` of a request, where it is given, goes before ``model``; ``settings.options`` are merged into the
    body. Without a ``client`` of the host every attempt has its own, so nothing is left open and any event loop will
    do; a host that wants connections kept gives a client and closes it.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "",
        *,
        api_key: str = "",
        headers: Mapping[str, str] | None = None,
        client: Client | None = None,
        streams_max: int | None = None,
        timeouts: Timeouts | None = None,
        prices: Pricing | None = None,
    ) -> None:
        """Remember where and how to ask; ``ValueError`` for an address that is none.

        ``api_key`` is sent as bearer token; ``headers`` are sent with every request and taken for secrets. ``prices``
        give the cost where the provider does not tell it.
        """
        self._url = _endpoint(base_url)
        self._model = model
        self._headers = dict(headers or {})
        if api_key.strip():
            self._headers.setdefault("authorization", f"Bearer {api_key.strip()}")
        self._client = client or OwnConnections()
        self._places = Places(streams_max)
        self._timeouts = timeouts or Timeouts()
        self._prices = prices

    def __repr__(self) -> str:
        return f"ChatModel({self._place!r}, {self._model!r})"

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Send the request once and return how it ended."""
        exchange = Exchange(ChatFolder(), self._timeouts, opened=run.opened, show=run.show, now_ms=run.now)
        secrets = set(self._headers.values())
        refused: list[Failure] = []

        async def work() -> None:
            try:
                request = await self._request(run, secrets)
                await self._perform(exchange, request)
            except _Refused as error:
                refused.append(error.failure)
            except Exception as error:  # noqa: BLE001 - a model never raises (R-082); what nobody foresaw says so
                refused.append(Failure(Fault.DEFECT, f"unforeseen {type(error).__name__}: {error}"))

        finished = await until_stopped(run.stop, work)
        if not finished and not exchange.complete:
            return run.stopped(exchange.folder.text, self._priced(exchange.folder.usage, self._asked(run.view)))
        outcome = refused[0] if refused else exchange.outcome()
        if isinstance(outcome, Reply):
            return self._replied(run, outcome)
        return self._failed(run, outcome, exchange, secrets)

    async def _perform(self, exchange: Exchange, request: WireRequest) -> None:
        async with self._places.one():
            await exchange.perform(self._client, request)

    async def _request(self, run: ModelRun, secrets: set[str]) -> WireRequest:
        """Build the request; credentials that are learnt on the way join the secrets."""
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
        }
        headers |= self._headers
        try:
            body = encode_chat(run.view, self._asked(run.view))
        except ValueError as error:
            raise _Refused(Fault.INVALID_REQUEST, str(error)) from error
        try:
            fresh = await run.credentials()
            secrets.update(fresh.values())
            headers |= {name.lower(): value for name, value in fresh.items()}
            body = dict(await run.converted(body))
        except Exception as error:
            raise _Refused(Fault.HOOK_FAILED, f"a hook failed: {type(error).__name__}: {error}") from error
        unfit = [name for name, value in headers.items() if not (value.isascii() and value.isprintable())]
        if unfit:
            told = f"the value for the header {', '.join(unfit)} holds characters that no header may hold"
            raise _Refused(Fault.AUTH, told)
        return WireRequest(str(self._url), headers, _json(body))

    def _asked(self, view: RequestView) -> str:
        return view.settings.model or self._model

    def _replied(self, run: ModelRun, reply: Reply) -> ModelReplied:
        asked = self._asked(run.view)
        return run.replied(
            reply.parts,
            finish=reply.finish,
            usage=self._priced(reply.usage, clean_text(reply.model) or asked),
            model=clean_text(reply.model) or asked,
            metadata=message_metadata("chat", asked, reply),
        )

    def _failed(self, run: ModelRun, failure: Failure, exchange: Exchange, secrets: set[str]) -> ModelFailed:
        kind, fault = failure.kind, failure.fault
        if kind is ModelFailure.MEDIA_TOO_LARGE and not _has_media(run.view):
            # Nothing else can be too large than the words.
            kind, fault = ModelFailure.OVERFLOW, Fault.CONTEXT_OVERFLOW
        return run.failed(
            kind,
            _without(secrets, f"{self._place}: {self._told(failure)}"),
            status=failure.status,
            code=fault.value,
            retry_after_ms=failure.retry_after_ms,
            output_shown=exchange.shown,
            usage=self._priced(exchange.folder.usage, self._asked(run.view)),
        )

    def _told(self, failure: Failure) -> str:
        status = f"{failure.status}: " if failure.status else ""
        keyless = failure.fault is Fault.AUTH and "authorization" not in self._headers
        return f"{status}{failure.message}{'; no API key was given' if keyless else ''}"

    def _priced(self, usage: Usage, model: str) -> Usage:
        if self._prices is None or usage.cost_micros is not None:
            return usage
        return attrs.evolve(usage, cost_micros=self._prices.of(usage, model))

    @property
    def _place(self) -> str:
        """The address without anything that could be a secret."""
        return str(self._url.copy_with(username="", password="", query=None, fragment=None))


def _endpoint(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ValueError(f"base_url is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base_url is {base_url!r}: expected http://HOST/… or https://HOST/…")
    path = url.path.rstrip("/")
    return url if path.endswith(_PATH) else url.copy_with(path=path + _PATH)


def _json(body: Any) -> bytes:
    """Encode; raises ``_Refused`` for what is no JSON. Lone surrogates are replaced, for UTF-8 has none."""
    try:
        return clean_text(json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _Refused(Fault.INVALID_REQUEST, f"the request is no JSON: {error}") from error


def _has_media(view: RequestView) -> bool:
    users = (message for message in view.messages if isinstance(message, UserMessage))
    return any(isinstance(part, MediaPart) for message in users for part in message.parts)


def _without(secrets: Iterable[str], text: str) -> str:
    """Take the credentials out, as they were sent and without what stands before them (``Bearer``)."""
    forms = {form for secret in secrets for form in (secret, secret.rpartition(" ")[2])}
    return clean_text(Redactor(form for form in forms if len(form) >= VALUE_LENGTH_MIN).redact(text))
