"""The HTTP client: which ones fit, what each stream leaves behind, and the place in a pool that httpx loses."""

from __future__ import annotations

import socket
import threading
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel
import httpx
import httpx2
import pytest

from agentcore.events import ModelFailed, ModelFailure, ModelReplied
from interpreters.models import HttpModel, Timeouts
from interpreters.models.clients import Opened, Places, is_local
from tests.models.byteserver import HANG, RESET, Answer, chunk, events, refusing_port, serving
from tests.models.runs import in_time, watched

pytestmark = pytest.mark.anyio

HI = events(chunk({"content": "hi"}), chunk({}, "stop"))
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}


@contextmanager
def silent():
    """A server that accepts connections and says nothing, so that a TLS handshake with it never ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    held = []

    def accept() -> None:
        while True:
            try:
                held.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        # A thread that waits in accept is woken by this, and not by closing.
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        for one in (*held, listener):
            one.close()


async def cancelled_together(read, many: int) -> None:
    """Begin requests, most of which wait for a place, and cancel all in the middle of the first one's connecting."""
    with anyio.move_on_after(0.02):
        async with anyio.create_task_group() as tasks:
            for _ in range(many):
                tasks.start_soon(read)


@pytest.mark.parametrize(("library", "lost"), [("httpx", True), ("httpx2", False)])
@in_time
async def test_the_pool_of_httpx_loses_a_place_for_ever_and_that_of_its_successor_does_not(library, lost):
    """1. One request connects and holds the only place; others wait. 2. All are cancelled. 3. The first gives its place
    to one that waits, which is being cancelled too and never takes it.
    """
    made = LIBRARIES[library]
    if library == "httpx" and not httpx.__version__.startswith("0.28."):
        pytest.skip(f"the pool was looked at in httpx 0.28, this is {httpx.__version__}")
    limits, timeouts = made.Limits(max_connections=1), made.Timeout(5, connect=0.2, pool=0.2)
    # Neither library closes a socket whose handshake is cancelled; here that is done beside them.
    with silent() as port:
        async with (
            Opened() as opened,
            made.AsyncClient(trust_env=False, verify=False, limits=limits, timeout=timeouts) as client,
        ):

            async def read() -> None:
                async with client.stream("GET", f"https://127.0.0.1:{port}/", extensions={"trace": opened.note}):
                    raise AssertionError("the server says nothing")

            for _ in range(20):
                await cancelled_together(read, 10)
            with pytest.raises(made.TimeoutException) as found:
                await read()
    assert found.type.__name__ == ("PoolTimeout" if lost else "ConnectTimeout")


@in_time
async def test_what_a_model_uses_by_itself_loses_no_place_there():
    with silent() as port:
        model = HttpModel("m", base_url=f"https://127.0.0.1:{port}/v1", streams_max=1, timeouts=Timeouts(connect_s=0.1))

        for _ in range(20):
            await cancelled_together(lambda: model.answer(watched().run), 10)
        event = await model.answer(watched().run)
    assert (event.code, event.kind) == ("connect-timeout", ModelFailure.RETRYABLE)


@pytest.mark.parametrize("library", LIBRARIES)
@in_time
async def test_a_client_of_the_host_is_used_and_left_open(library):
    with serving(Answer(HI), Answer(HI)) as server:
        async with LIBRARIES[library].AsyncClient(trust_env=False) as client:
            model = HttpModel("m", base_url=server.url, client=client)
            for _ in range(2):
                assert isinstance(await model.answer(watched().run), ModelReplied)
            assert not client.is_closed


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("answer", "code", "shown"),
    [
        (Answer((HI[0], RESET)), "connection", True),
        (Answer((HI[0], HANG)), "idle-timeout", True),
        (Answer((HI[0],)), "truncated-stream", True),
        (Answer((b"busy",), 503), "server", False),
    ],
)
@pytest.mark.req("R-082", "D-14")
@in_time
async def test_both_libraries_fail_alike(library, answer, code, shown):
    with serving(answer) as server:
        async with LIBRARIES[library].AsyncClient(trust_env=False) as client:
            model = HttpModel("m", base_url=server.url, client=client, timeouts=Timeouts(idle_s=0.2))
            event = await model.answer(watched().run)
    assert isinstance(event, ModelFailed)
    assert (event.code, event.kind, event.output_shown) == (code, ModelFailure.RETRYABLE, shown)


@pytest.mark.parametrize("library", LIBRARIES)
@in_time
async def test_both_libraries_tell_of_a_server_that_is_not_there(library):
    async with LIBRARIES[library].AsyncClient(trust_env=False) as client:
        event = await HttpModel("m", base_url=f"http://127.0.0.1:{refusing_port()}/v1", client=client).answer(
            watched().run
        )
    assert event.code == "connection"


class Raising:
    """A client of the host's own, over something else than httpx."""

    def __init__(self, error):
        self.error = error

    @asynccontextmanager
    async def stream(self, *place, **sent):
        await anyio.lowlevel.checkpoint()
        raise self.error
        yield


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError("reset"), "connection"), (TimeoutError("slow"), "connection"), (KeyError("odd"), "defect")],
)
@pytest.mark.req("R-082")
@in_time
async def test_trouble_of_another_client_is_an_event_too(error, code):
    model = HttpModel("m", base_url="http://model/v1", client=Raising(error))
    assert (await model.answer(watched().run)).code == code


@in_time
async def test_places_are_held_one_block_long_and_given_on_in_turn():
    places, order = Places(2), []

    async def hold(number: int) -> None:
        async with places.one():
            order.append((number, "in"))
            await anyio.lowlevel.checkpoint()
            order.append((number, "out"))

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(hold, number)
    held = [sum(1 if way == "in" else -1 for _, way in order[: at + 1]) for at in range(len(order))]
    assert max(held) == 2
    assert held[-1] == 0
    assert len(order) == 12


@in_time
async def test_whoever_waits_for_a_place_and_is_cancelled_leaves_no_trace():
    places = Places(1)

    async def wait() -> None:
        async with places.one():
            raise AssertionError("the place is held")

    async with places.one():
        with anyio.move_on_after(0.01):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(wait)
    async with places.one():
        pass


@in_time
async def test_waiting_for_a_place_is_no_silence_of_the_server():
    with serving(Answer(HI), Answer(HI)) as server:
        model = HttpModel("m", base_url=server.url, streams_max=1, timeouts=Timeouts(idle_s=0.3, progress_s=0.3))
        found = []

        async def ask() -> None:
            found.append(await model.answer(watched().run))

        async with model._places.one(), anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.sleep(0.5)
            tasks.cancel_scope.cancel()
        assert found == []
        await ask()
    assert isinstance(found[0], ModelReplied)


def test_places_serve_one_event_loop_after_the_other():
    places = Places(1)

    async def hold() -> None:
        async with places.one():
            await anyio.lowlevel.checkpoint()

    for backend in ("asyncio", "trio", "asyncio"):
        anyio.run(hold, backend=backend)


@pytest.mark.parametrize("most", [0, -1])
def test_no_place_at_all_is_refused(most):
    with pytest.raises(ValueError, match=f"streams_max is {most}"):
        HttpModel("m", base_url="http://model/v1", streams_max=most)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.5/v1", True),
        ("http://[::1]:8/v1", True),
        ("https://127.example.com/v1", False),
        ("https://api.example.com/v1", False),
    ],
)
def test_only_this_machine_is_local(url, local):
    assert is_local(url) is local
