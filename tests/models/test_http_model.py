"""The model over HTTP: what it sends, how long it waits, what it makes of everything that breaks."""

from __future__ import annotations

import json

import anyio
import anyio.lowlevel
import attrs
import httpx
import pytest

from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped
from agentcore.messages import MediaPart, TextPart, Usage
from agentcore.policy import ModelSettings
from agentcore.projections import RequestView
from interpreters.models import PROFILES, ChatFolder, Dialect, HttpModel, Prices, Timeouts
from interpreters.support.ports_model import HookRan, TextDelta
from tests.models.byteserver import HANG, RESET, Answer, chunk, events, refusing_port, serving
from tests.models.runs import NOW, user, view_of, watched

pytestmark = pytest.mark.anyio

KEY = "sk-not-a-real-key-0123456789"
HI = events(chunk({"content": "hi"}), chunk({}, "stop"), chunk(usage={"prompt_tokens": 10, "completion_tokens": 2}))
OK = Answer(HI)


async def ask(model: HttpModel, view: RequestView | None = None, **fields):
    """One answer of a model."""
    return await model.answer(watched(view, **fields).run)


async def test_a_request_carries_model_history_and_key():
    with serving(OK) as server:
        event = await ask(
            HttpModel("m", base_url=server.url + "/", api_key=f" {KEY}\n", headers={"X-Team": "blue-team"})
        )
    sent = server.received[0]
    assert isinstance(event, ModelReplied)
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["x-team"] == "blue-team"
    assert sent.headers["content-type"] == "application/json"
    assert (sent.body["model"], sent.body["stream"]) == ("m", True)
    assert sent.body["messages"] == [{"role": "user", "content": "hello"}]


async def test_without_a_key_none_is_sent():
    with serving(OK) as server:
        await ask(HttpModel("m", base_url=server.url))
    assert "authorization" not in server.received[0].headers


@pytest.mark.req("R-081")
async def test_the_settings_of_a_request_go_before_those_of_the_model():
    view = view_of(user("x"), settings=ModelSettings("other", '{"temperature":0}'))
    with serving(OK) as server:
        event = await ask(HttpModel("m", base_url=server.url), view)
    assert (server.received[0].body["model"], server.received[0].body["temperature"]) == ("other", 0)
    assert '"asked":"other"' in event.metadata


async def test_a_reply_names_its_request_and_says_what_it_consumed():
    with serving(OK) as server:
        event = await ask(HttpModel("asked", base_url=server.url), attempt=3)
    assert event == ModelReplied(
        at=NOW,
        request_id="1.1",
        epoch=0,
        attempt=3,
        parts=(TextPart("hi"),),
        usage=Usage(10, 2),
        model="m",
        metadata='{"asked":"asked","dialect":"chat","id":"c1","label":"stop"}',
    )


@pytest.mark.req("R-105", "R-235")
async def test_prices_give_the_cost_where_the_provider_does_not():
    prices = Prices(input_micros=2_000_000, output_micros=8_000_000, cache_read_micros=500_000)
    used = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    told = events(chunk({"content": "hi"}, "stop", usage=used))
    paid = events(chunk({"content": "hi"}, "stop", usage={**used, "cost": 0.5}))
    unknown = events(chunk({"content": "hi"}, "stop"))
    with serving(Answer(told), Answer(paid), Answer(unknown)) as server:
        model = HttpModel("m", base_url=server.url, prices=prices)
        costs = [(await ask(model)).usage.cost_micros for _ in range(3)]
    assert costs == [6 * 2 + 4 * 0.5 + 2 * 8, 500_000, None]


async def test_the_cost_of_a_cache_read_is_that_of_other_input_unless_told():
    assert Prices(1_000_000, 0).of(Usage(10, 0, cache_read_tokens=20)) == 10


@pytest.mark.req("R-077")
async def test_the_first_byte_is_told_before_anything_is_shown():
    with serving(OK) as server:
        seen = watched()
        order = []
        run = watched(emit=lambda _: order.append("opened"), show=lambda _: order.append("shown")).run
        await HttpModel("m", base_url=server.url).answer(run)
    assert order == ["opened", "shown"]
    assert seen.emitted == []


async def test_an_injected_client_is_used_and_left_open():
    with serving(OK, OK) as server:
        async with httpx.AsyncClient(trust_env=False) as client:
            model = HttpModel("m", base_url=server.url, client=client)
            assert isinstance(await ask(model), ModelReplied)
            assert isinstance(await ask(model), ModelReplied)
            assert not client.is_closed


@pytest.mark.req("D-13", "R-144")
@pytest.mark.parametrize("answer", [Answer((), 503), Answer((), 429), Answer((RESET,)), Answer(())])
async def test_nothing_is_tried_twice(answer):
    with serving(answer, OK) as server:
        event = await ask(HttpModel("m", base_url=server.url))
    assert (event.kind, len(server.received)) == (ModelFailure.RETRYABLE, 1)


# --- being stopped


@pytest.mark.req("R-175", "D-7")
async def test_a_request_that_is_told_to_stop_gives_what_it_has():
    told = (HI[0], *events(chunk({"content": " the"}, usage={"prompt_tokens": 7}), done=False), HANG)
    stop = anyio.Event()

    def show(delta):
        if delta == TextDelta(" the"):
            stop.set()

    with serving(Answer(told)) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url), stop=stop, show=show)
    assert event == ModelStopped(
        at=NOW, request_id="1.1", epoch=0, attempt=1, parts=(TextPart("hi the"),), usage=Usage(7)
    )


@pytest.mark.req("R-175")
async def test_a_request_that_is_stopped_before_it_began_stops_too():
    stop = anyio.Event()
    stop.set()
    with serving(Answer((HANG,))) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url), stop=stop)
    assert event == ModelStopped(at=NOW, request_id="1.1", epoch=0, attempt=1)


async def test_a_stop_that_comes_after_the_end_was_stated_loses_nothing():
    stop = anyio.Event()
    told = events(chunk({"content": "hi"}, "stop"), done=False)

    with serving(Answer((*told, HANG))) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url), stop=stop, show=lambda _: stop.set())
    assert isinstance(event, ModelReplied)


async def test_a_cancelled_task_lets_go_of_the_connection():
    with serving(Answer((HI[0], HANG))) as server, anyio.fail_after(3):
        with anyio.CancelScope() as scope:
            await ask(HttpModel("m", base_url=server.url), show=lambda _: scope.cancel())
            raise AssertionError("it went on")
    assert scope.cancelled_caught


# --- what can be wrong


@pytest.mark.parametrize(
    ("answer", "code", "kind"),
    [
        (Answer((b"<html><title>Log in</title></html>",)), "protocol", ModelFailure.FATAL),
        (Answer((b'{"hello":"world"}',)), "protocol", ModelFailure.FATAL),
        (Answer((), 302, {"location": "http://127.0.0.1:1/"}), "protocol", ModelFailure.FATAL),
        (Answer((b"not gzip",), 200, {"content-encoding": "gzip"}), "malformed-stream", ModelFailure.RETRYABLE),
        (Answer((HI[0], RESET)), "connection", ModelFailure.RETRYABLE),
        (Answer((HI[0],)), "truncated-stream", ModelFailure.RETRYABLE),
        (Answer((b"Unauthorized",), 401), "auth", ModelFailure.FATAL),
        (Answer((b"x", HANG), 503), "server", ModelFailure.RETRYABLE),
    ],
)
@pytest.mark.req("R-082")
async def test_whatever_a_server_does_is_an_event(answer, code, kind):
    with serving(answer) as server:
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.3)))
    assert isinstance(event, ModelFailed)
    assert (event.code, event.kind) == (code, kind)
    assert event.message.startswith(f"{server.url}/chat/completions: ")


@pytest.mark.req("R-082", "D-14")
async def test_a_server_that_is_not_there_is_named_and_may_be_tried_again():
    url = f"http://127.0.0.1:{refusing_port()}/v1"
    event = await ask(HttpModel("m", base_url=url))
    assert (event.code, event.kind) == ("connection", ModelFailure.RETRYABLE)
    assert url in event.message
    assert "is it running" in event.message


async def test_a_server_that_does_not_accept_in_time_is_a_connect_timeout():
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        event = await ask(HttpModel("m", base_url="http://model/v1", client=client))
    assert (event.code, event.kind) == ("connect-timeout", ModelFailure.RETRYABLE)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx.ReadError(""), "connection"),
        (httpx.RemoteProtocolError("peer closed"), "connection"),
        (httpx.ProxyError("no"), "connection"),
        (httpx.ReadTimeout(""), "idle-timeout"),
        (httpx.LocalProtocolError(f"Illegal header value {KEY}"), "invalid-request"),
        (httpx.TooManyRedirects("x"), "defect"),
        (RuntimeError(f"something odd about {KEY}"), "defect"),
        (ExceptionGroup("odd", [ValueError("x")]), "defect"),
    ],
)
@pytest.mark.req("R-082")
async def test_whatever_the_library_raises_is_an_event_without_the_key(error, code):
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    async with httpx.AsyncClient(transport=httpx.MockTransport(fail)) as client:
        event = await ask(HttpModel("m", base_url="http://model/v1", api_key=KEY, client=client))
    assert event.code == code
    assert KEY not in event.message


async def test_a_missing_key_is_named_where_the_server_wants_one():
    with serving(Answer((b'{"error":{"message":"who are you?"}}',), 401)) as server:
        event = await ask(HttpModel("m", base_url=server.url))
    assert event.message == f"{server.url}/chat/completions: 401: who are you?; no API key was given"


async def test_the_key_appears_nowhere():
    told = f'{{"error":{{"message":"Incorrect API key provided: {KEY}, team blue-team"}}}}'.encode()
    with serving(Answer((told,), 401)) as server:
        model = HttpModel("m", base_url=server.url, api_key=KEY, headers={"x-team": "blue-team"})
        event = await ask(model)
    assert "[redacted]" in event.message
    for text in (repr(event), repr(model), str(model)):
        assert KEY not in text
        assert "blue-team" not in text


async def test_a_password_inside_the_address_appears_nowhere():
    model = HttpModel("m", base_url=f"http://me:hidden-word@127.0.0.1:{refusing_port()}/v1?key=hidden-too")
    event = await ask(model)
    assert "hidden" not in repr(event) + repr(model)


@pytest.mark.parametrize("key", ["sk-\nx-injected: 1", "schlüssel-lang"])
async def test_a_key_that_no_header_can_hold_is_refused_without_being_told(key):
    with serving(OK) as server:
        event = await ask(HttpModel("m", base_url=server.url, api_key=key))
    assert (event.code, event.kind, server.received) == ("auth", ModelFailure.FATAL, [])
    assert key not in event.message


@pytest.mark.parametrize("url", ["", "not an address", "ftp://x/v1", "http://", "http://a:b:c/", "/v1"])
async def test_an_address_that_is_none_is_refused_at_once(url):
    with pytest.raises(ValueError, match="base_url"):
        HttpModel("m", base_url=url)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h", "https://h/chat/completions"),
    ],
)
async def test_the_path_is_added_where_it_is_missing(base, url):
    assert repr(HttpModel("m", base_url=base)) == f"HttpModel('m', base_url='{url}', dialect='chat')"


async def test_options_that_are_no_object_fail_the_request():
    view = view_of(user("x"), settings=ModelSettings("", "[]"))
    event = await ask(HttpModel("m", base_url="http://127.0.0.1:1/v1"), view)
    assert (event.code, event.kind) == ("invalid-request", ModelFailure.FATAL)


async def test_a_view_that_breaks_fails_the_request():
    class Broken:
        settings = ModelSettings()

        @property
        def messages(self):
            raise KeyError("lost")

        instructions = summary = ""

    event = await ask(HttpModel("m", base_url="http://127.0.0.1:1/v1"), Broken())
    assert (event.code, event.kind) == ("defect", ModelFailure.FATAL)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [(("words",), ModelFailure.OVERFLOW), (("look", MediaPart("image/png", "QUJD")), ModelFailure.MEDIA_TOO_LARGE)],
)
@pytest.mark.req("R-145", "R-148")
async def test_a_request_that_is_too_large_is_made_smaller_where_it_is_large(parts, kind):
    with serving(Answer((b"too large",), 413)) as server:
        event = await ask(HttpModel("m", base_url=server.url), view_of(user(*parts)))
    assert event.kind is kind


async def test_lone_surrogates_in_a_history_do_not_stop_a_request():
    with serving(OK) as server:
        event = await ask(HttpModel("m", base_url=server.url), view_of(user("a\ud800b")))
    assert isinstance(event, ModelReplied)
    assert server.received[0].body["messages"][0]["content"] == "a\ufffdb"


# --- hooks


@pytest.mark.req("R-018", "R-080")
@pytest.mark.parametrize("plain", [True, False])
async def test_credentials_are_refreshed_for_each_attempt_and_traced_without_their_values(plain):
    count = 0

    def fresh() -> dict[str, str]:
        nonlocal count
        count += 1
        return {"Authorization": f"Bearer fresh-token-{count}"}

    async def fresh_later() -> dict[str, str]:
        await anyio.lowlevel.checkpoint()
        return fresh()

    told = b'{"error":{"message":"fresh-token-2 is wrong"}}'
    with serving(OK, Answer((told,), 401)) as server:
        model = HttpModel("m", base_url=server.url, api_key=KEY)
        seen = watched(refresh=fresh if plain else fresh_later)
        await model.answer(seen.run)
        event = await model.answer(seen.run)
    assert [one.headers["authorization"] for one in server.received] == ["Bearer fresh-token-1", "Bearer fresh-token-2"]
    assert seen.traced == [HookRan("refresh-credentials", "1.1", 0, "Authorization")] * 2
    assert "fresh-token" not in repr(event)


@pytest.mark.req("R-018")
@pytest.mark.parametrize("plain", [True, False])
async def test_the_host_has_the_last_word_on_what_is_sent(plain):
    def convert(view, body):
        assert view.messages
        return {**body, "messages": [*body["messages"], {"role": "user", "content": "PS"}], "seed": 1}

    async def convert_later(view, body):
        await anyio.lowlevel.checkpoint()
        return convert(view, body)

    with serving(OK) as server:
        seen = watched(convert=convert if plain else convert_later)
        await HttpModel("m", base_url=server.url).answer(seen.run)
    assert server.received[0].body["seed"] == 1
    assert seen.traced == [HookRan("convert-to-wire", "1.1", 0, "messages, seed")]


def broken(*_):
    raise RuntimeError("the host's fault")


@pytest.mark.parametrize("hook", [{"refresh": broken}, {"convert": broken}, {"convert": lambda *_: 7}])
@pytest.mark.req("R-082")
async def test_a_hook_that_fails_fails_the_request_and_says_so(hook):
    with serving(OK) as server:
        seen = watched(**hook)
        event = await HttpModel("m", base_url=server.url).answer(seen.run)
    assert (event.code, event.kind, server.received) == ("hook-failed", ModelFailure.FATAL, [])
    assert [ran.changed for ran in seen.traced] == ["failed"]


@pytest.mark.parametrize("body", [{"messages": object()}, {"x": float("nan")}])
async def test_a_body_that_is_no_json_fails_the_request(body):
    event = await ask(HttpModel("m", base_url="http://127.0.0.1:1/v1"), convert=lambda *_: body)
    assert (event.code, event.kind) == ("invalid-request", ModelFailure.FATAL)


async def test_a_hook_that_changes_nothing_is_traced_so():
    with serving(OK) as server:
        seen = watched(convert=lambda _, body: body, refresh=dict)
        await HttpModel("m", base_url=server.url).answer(seen.run)
    assert [(ran.hook, ran.changed) for ran in seen.traced] == [
        ("refresh-credentials", "nothing"),
        ("convert-to-wire", "nothing"),
    ]


async def test_several_requests_at_once_do_not_meet():
    answers = [Answer(events(chunk({"content": "hi"}, "stop"))) for _ in range(5)]
    found = []
    with serving(*answers) as server:
        model = HttpModel("m", base_url=server.url)

        async def one(attempt: int) -> None:
            found.append((await ask(model, attempt=attempt)).attempt)

        async with anyio.create_task_group() as tasks:
            for attempt in range(5):
                tasks.start_soon(one, attempt)
    assert sorted(found) == [0, 1, 2, 3, 4]


# --- dialects, profiles, credentials of its own


class Echo(ChatFolder):
    """The chat dialect under another name."""


ODD = Dialect("odd", "/odd", lambda view, model, profile: {"of": profile.name, "to": model}, Echo, {"odd-version": "3"})


async def test_a_dialect_of_the_host_is_spoken():
    with serving(OK) as server:
        event = await ask(HttpModel("m", base_url=server.url, dialect=ODD, profile=PROFILES["mistral"]))
    sent = server.received[0]
    assert (sent.path, sent.headers["odd-version"], sent.body) == ("/v1/odd", "3", {"of": "mistral", "to": "m"})
    assert json.loads(event.metadata)["dialect"] == "odd"


def test_a_dialect_that_nobody_knows_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match="dialect is 'morse': expected chat"):
        HttpModel("m", base_url="http://h/v1", dialect="morse")


async def test_a_profile_says_where_how_and_under_which_header():
    profile = attrs.evolve(PROFILES["azure"], base_url="https://h.example/openai/v1")
    assert "https://h.example/openai/v1/chat/completions" in repr(HttpModel("m", profile=profile))
    with serving(OK) as server:
        await ask(HttpModel("m", base_url=server.url, profile=profile, api_key=KEY))
    assert server.received[0].headers["api-key"] == KEY
    assert "authorization" not in server.received[0].headers


@pytest.mark.req("R-018", "R-080")
@pytest.mark.parametrize("plain", [True, False])
async def test_a_model_may_fetch_its_own_credentials_for_each_attempt(plain):
    given = iter(["first-secret-token", "second-secret-token"])

    def fetch():
        return {"Authorization": f"Bearer {next(given)}"}

    async def fetch_later():
        await anyio.lowlevel.checkpoint()
        return fetch()

    told = b'{"error":{"message":"second-secret-token is wrong"}}'
    with serving(OK, Answer((told,), 401)) as server:
        model = HttpModel("m", base_url=server.url, api_key=KEY, credentials=fetch if plain else fetch_later)
        await ask(model)
        event = await ask(model)
    sent = [one.headers["authorization"] for one in server.received]
    assert sent == ["Bearer first-secret-token", "Bearer second-secret-token"]
    assert "second-secret-token" not in event.message
    assert "no API key" not in event.message


async def test_the_hook_of_a_session_goes_before_that_of_its_model():
    with serving(OK) as server:
        model = HttpModel("m", base_url=server.url, credentials=lambda: {"x-a": "model", "x-b": "model"})
        await ask(model, refresh=lambda: {"X-A": "session"})
    assert (server.received[0].headers["x-a"], server.received[0].headers["x-b"]) == ("session", "model")


async def test_credentials_that_cannot_be_fetched_fail_the_request():
    with serving(OK) as server:
        event = await ask(HttpModel("m", base_url=server.url, credentials=broken))
    assert (event.code, event.kind, server.received) == ("hook-failed", ModelFailure.FATAL, [])
