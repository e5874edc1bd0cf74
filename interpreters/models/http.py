"""A model behind HTTP, in any dialect: what is sent, what came of it, and which words of it may be told."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

import attrs
import httpx

from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped
from agentcore.messages import MediaPart, Usage, UserMessage, clean_text
from agentcore.projections import RequestView
from interpreters.models.assembly import Reply
from interpreters.models.clients import Client, OwnConnections, Places
from interpreters.models.dialects import Dialect
from interpreters.models.exchange import Exchange, WireRequest
from interpreters.models.failures import Failure
from interpreters.models.faults import Fault
from interpreters.models.known import DIALECTS
from interpreters.models.patience import Timeouts
from interpreters.models.prices import Pricing
from interpreters.models.profiles import DEFAULT, Profile
from interpreters.models.requests import Refused, as_json, header_fields
from interpreters.models.writing import message_metadata
from interpreters.support.ports_model import ModelRun, RefreshCredentials
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor
from interpreters.support.stopping import until_stopped


class HttpModel:
    """Answers requests over HTTP, each attempt sent once (D-13); works on asyncio and trio.

    ``settings.model`` of a request, where it is given, goes before ``name``; ``settings.options`` are merged into the
    body. Without a ``client`` of the host every attempt has a connection of its own, so nothing is left open and any
    event loop will do; a host that wants connections kept gives a client and closes it.
    """

    def __init__(
        self,
        name: str = "",
        *,
        base_url: str = "",
        dialect: str | Dialect = "",
        profile: Profile = DEFAULT,
        api_key: str = "",
        headers: Mapping[str, str] | None = None,
        credentials: RefreshCredentials | None = None,
        client: Client | None = None,
        streams_max: int | None = None,
        timeouts: Timeouts | None = None,
        prices: Pricing | None = None,
    ) -> None:
        """Remember where and how to ask; ``ValueError`` for an address or a dialect that is none.

        ``base_url`` and ``dialect`` (``chat``, ``responses``, ``anthropic``, or one of your own) are the profile's
        where they are not given. ``api_key`` is sent as the profile says; ``headers`` are sent with every request;
        ``credentials`` is called for each attempt, plain or async, and its fields go before both. The values of all
        three are taken for secrets. ``streams_max`` bounds the requests under way at once. ``prices`` give the cost
        where the provider does not tell it.
        """
        self._name = name
        self._profile = profile
        self._dialect = _dialect(dialect or profile.dialect)
        self._url = _endpoint(base_url or profile.base_url, self._dialect.path)
        self._headers = profile.authorised(api_key) | {field.lower(): value for field, value in (headers or {}).items()}
        self._credentials = credentials
        self._client = client or OwnConnections()
        self._places = Places(streams_max)
        self._timeouts = timeouts or Timeouts()
        self._prices = prices

    def __repr__(self) -> str:
        return f"HttpModel({self._name!r}, base_url={self._place!r}, dialect={self._dialect.name!r})"

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Send the request once and return how it ended."""
        exchange = Exchange(
            self._dialect.folder(),
            self._timeouts,
            opened=run.opened,
            show=run.show,
            now_ms=run.now,
            codes=self._profile.codes,
        )
        secrets = dict(self._headers)
        refused: list[Failure] = []

        async def work() -> None:
            try:
                request = await self._request(run, secrets)
                async with self._places.one():
                    await exchange.perform(self._client, request)
            except Refused as error:
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

    async def _request(self, run: ModelRun, secrets: dict[str, str]) -> WireRequest:
        """Build the request; header fields that are learnt on the way join the secrets. Raises ``Refused``."""
        try:
            body = self._dialect.encode(run.view, self._asked(run.view), self._profile)
        except ValueError as error:
            raise Refused(Fault.INVALID_REQUEST, str(error)) from error
        try:
            for fresh in (await self._own_credentials(), await run.credentials()):
                secrets |= {field.lower(): value for field, value in fresh.items()}
            body = dict(await run.converted(body))
        except Exception as error:
            raise Refused(Fault.HOOK_FAILED, f"a hook failed: {type(error).__name__}: {error}") from error
        return WireRequest(str(self._url), header_fields(self._dialect.headers, secrets), as_json(body))

    async def _own_credentials(self) -> Mapping[str, str]:
        found = self._credentials() if self._credentials else {}
        return await found if inspect.isawaitable(found) else found

    def _asked(self, view: RequestView) -> str:
        return view.settings.model or self._name

    def _replied(self, run: ModelRun, reply: Reply) -> ModelReplied:
        asked = self._asked(run.view)
        model = clean_text(reply.model) or asked
        return run.replied(
            reply.parts,
            finish=reply.finish,
            usage=self._priced(reply.usage, model),
            model=model,
            metadata=message_metadata(self._dialect.name, asked, reply),
        )

    def _failed(self, run: ModelRun, failure: Failure, exchange: Exchange, sent: Mapping[str, str]) -> ModelFailed:
        kind, fault = failure.kind, failure.fault
        if kind is ModelFailure.MEDIA_TOO_LARGE and not _has_media(run.view):
            # Nothing else can be too large than the words.
            kind, fault = ModelFailure.OVERFLOW, Fault.CONTEXT_OVERFLOW
        return run.failed(
            kind,
            _without(sent.values(), f"{self._place}: {self._told(failure, sent)}"),
            status=failure.status,
            code=fault.value,
            retry_after_ms=failure.retry_after_ms,
            output_shown=exchange.shown,
            usage=self._priced(exchange.folder.usage, self._asked(run.view)),
        )

    def _told(self, failure: Failure, sent: Mapping[str, str]) -> str:
        status = f"{failure.status}: " if failure.status else ""
        keyless = failure.fault is Fault.AUTH and self._profile.key_header not in sent
        return f"{status}{failure.message}{'; no API key was given' if keyless else ''}"

    def _priced(self, usage: Usage, model: str) -> Usage:
        if self._prices is None or usage.cost_micros is not None:
            return usage
        return attrs.evolve(usage, cost_micros=self._prices.of(usage, model))

    @property
    def _place(self) -> str:
        """The address without anything that could be a secret."""
        return str(self._url.copy_with(username="", password="", query=None, fragment=None))


def _dialect(told: str | Dialect) -> Dialect:
    if isinstance(told, Dialect):
        return told
    if told not in DIALECTS:
        raise ValueError(f"dialect is {told!r}: expected {', '.join(DIALECTS)}")
    return DIALECTS[told]


def _endpoint(base_url: str, path: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ValueError(f"base_url is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base_url is {base_url!r}: expected http://HOST/… or https://HOST/…")
    found = url.path.rstrip("/")
    return url if found.endswith(path) else url.copy_with(path=found + path)


def _has_media(view: RequestView) -> bool:
    users = (message for message in view.messages if isinstance(message, UserMessage))
    return any(isinstance(part, MediaPart) for message in users for part in message.parts)


def _without(secrets: Iterable[str], text: str) -> str:
    """Take the credentials out, as they were sent and without what stands before them (``Bearer``)."""
    forms = {form for secret in secrets for form in (secret, secret.rpartition(" ")[2])}
    return clean_text(Redactor(form for form in forms if len(form) >= VALUE_LENGTH_MIN).redact(text))
