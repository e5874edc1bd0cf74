"""The hostile model: reads each request, gives the reply the scenario has at this place of the history, or a fault."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping

import attrs

from interpreters.check.anthropic import ANTHROPIC
from interpreters.check.chat import CHAT
from interpreters.check.http import Exchange
from interpreters.check.record import Asking, Record, Served
from interpreters.check.responses import RESPONSES
from interpreters.check.rules import Means
from interpreters.check.scenarios import GUARDED, RECORD, UNKNOWN, Fault, Form, Ids, Kind, Moment, Step
from interpreters.check.setup import Patience
from interpreters.check.wire import Asked, Dialect, Item, Json, Refusal, Reply, WireCall

DIALECTS: tuple[Dialect, ...] = (CHAT, RESPONSES, ANTHROPIC)
"""Every interface that is spoken."""

Happen = Callable[[Kind, Moment, int], Awaitable[bool]]
"""Lets the act of the scenario happen, if it is of this kind, moment and step, and says whether it did."""

_REFUSALS: Mapping[Fault, Refusal] = {
    Fault.ERROR: Refusal(500, "server_error", "The server had an error while processing your request."),
    Fault.RATE_LIMIT: Refusal(429, "rate_limit_exceeded", "Rate limit reached. Please try again."),
    Fault.OVERFLOW: Refusal(400, "context_length_exceeded", "This model's maximum context length is 100 tokens."),
}
_KINDS: Mapping[Fault, str] = {
    Fault.ERROR: "api_error",
    Fault.RATE_LIMIT: "rate_limit_error",
    Fault.OVERFLOW: "invalid_request_error",
}


_KEPT_MAX = 1_000_000
_BROKEN_OFF = (Fault.STALL, Fault.DISCONNECT)


class HostileModel:
    """Answers the requests of one run."""

    def __init__(self, record: Record, patience: Patience, happen: Happen) -> None:
        self._record = record
        self._patience = patience
        self._happen = happen
        self._kept: dict[str, tuple[Item, ...]] = {}
        self._reached = 0
        self._given: dict[int, int] = {}

    async def answer(self, dialect: Dialect, exchange: Exchange) -> None:
        """Answer one request."""
        record, body = self._record, exchange.request.json()
        asked = dialect.read(body) if isinstance(body, dict) else Asked(complaints=("the content is no JSON object",))
        asked = self._with_history(asked)
        step = self._place(asked)
        served = self._choose(dialect, asked, step)
        text = exchange.request.body[:_KEPT_MAX].decode(errors="replace")
        asking = Asking(
            number=len(record.askings) + 1,
            at=record.now(),
            life=record.lives,
            dialect=dialect.name,
            path=exchange.request.path,
            body=text,
            asked=asked,
            served=served,
        )
        record.askings.append(asking)
        record.stir()
        if step and await self._happen(Kind.KILL, Moment.NEXT_REQUEST, step - 1):
            return
        try:
            await self._tell(dialect, exchange, asking)
        finally:
            served.delivered = exchange.sent
            record.stir()

    # What to say

    def _with_history(self, asked: Asked) -> Asked:
        """Put before a request what the provider keeps of the answer that it names."""
        if not asked.previous:
            return asked
        if asked.previous not in self._kept:
            unknown = f"previous_response_id {asked.previous!r:.60} names no answer"
            return attrs.evolve(asked, complaints=(*asked.complaints, unknown))
        return attrs.evolve(asked, items=(*self._kept[asked.previous], *asked.items))

    def _place(self, asked: Asked) -> int:
        """Return the first step that the history does not hold.

        After an overflow the history may have been replaced by a summary: the place is then the furthest one reached.
        """
        record = self._record
        entries = [record.entry_of_call(call) for item in asked.items for call in item.calls]
        steps = [record.step_of(entry) + 1 for entry in entries if entry and not entry.endswith("-cut")]
        steps += [place_of(record.mark, item.text) + 1 for item in asked.items if item.role == "assistant"]
        place = max(steps, default=0)
        overflowed = any(asking.served.fault is Fault.OVERFLOW for asking in record.askings)
        self._reached = max(self._reached, place)
        return self._reached if overflowed else place

    def _choose(self, dialect: Dialect, asked: Asked, place: int) -> Served:
        scenario = self._record.scenario
        step, times = scenario.at(place), self._given.get(place, 0)
        self._given[place] = times + 1
        if step.calls and not self._tools(asked):
            self._record.lacking.add(Means.TOOLS)
            return Served(place, self._reply(Step(), place, asked))
        fault = step.instead[times] if times < len(step.instead) else None
        if scenario.endless and step.instead and place >= len(scenario.steps) - 1:
            fault = step.instead[times % len(step.instead)]
        if fault is Fault.CUT_UNLABELLED and dialect is ANTHROPIC and not asked.stream:
            fault = Fault.CUT  # whole answers hold arguments as objects: without a label nobody could see the cut
        if fault in (Fault.ERROR, Fault.RATE_LIMIT, Fault.OVERFLOW):
            return Served(place, None, fault)
        if fault in (Fault.EMPTY, Fault.GARBAGE):
            return Served(place, Reply(self._name()), fault)
        reply = self._reply(step, place, asked, fault)
        if fault not in _BROKEN_OFF:
            self._kept[reply.id] = (*asked.items, Item("assistant", reply.text, reply.calls))
        return Served(place, reply, fault)

    def _tools(self, asked: Asked) -> dict[str, str]:
        """Return what the program calls our tools; servers' names are often put before a tool's own."""
        found: dict[str, str] = {}
        for known in (RECORD, GUARDED):
            ends = (f"_{known}", f".{known}")
            found.update((known, name) for name in asked.tools if name == known or name.endswith(ends))
        return found

    def _name(self) -> str:
        return f"resp_{self._record.mark}_{len(self._record.askings) + 1}"

    def _reply(self, step: Step, place: int, asked: Asked, fault: Fault | None = None) -> Reply:
        mark, names, calls = self._record.mark, self._tools(asked), []
        for index, call in enumerate(step.calls):
            entry = self._record.entry(place, index, cut=fault is not None)
            written = write_arguments(call.form, entry)
            if fault in (Fault.CUT, Fault.CUT_UNLABELLED) and index == len(step.calls) - 1:
                written = written[:-4]
            name = call.tool if call.tool == UNKNOWN else names.get(call.tool, call.tool)
            calls.append(WireCall(_id(step.ids, mark, place, index, len(self._record.askings)), name, written))
        return Reply(
            id=self._name(),
            text=text_of(mark, place, calls=bool(calls), cut=fault is not None),
            calls=tuple(calls),
            cut=fault in (Fault.CUT, Fault.CUT_WHOLE),
            labelled_stop=step.labelled_stop,
        )

    # How to say it

    async def _tell(self, dialect: Dialect, exchange: Exchange, asking: Asking) -> None:
        served, streamed = asking.served, asking.asked.stream
        if served.reply is None:
            await self._refuse(dialect, exchange, served.fault or Fault.ERROR)
            return
        if served.fault is Fault.GARBAGE and not streamed:
            await _tell_page(exchange)
            return
        if streamed:
            parts = dialect.stream(served.reply)
            headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        else:
            body = json.dumps(dialect.whole(served.reply)).encode()
            parts = [body[: len(body) // 2], body[len(body) // 2 :]]
            headers = {"content-type": "application/json", "content-length": str(len(body))}
        await exchange.begin(200, headers)
        half = len(parts) - dialect.ending if streamed else 1
        for part in parts[:half]:
            await exchange.send(part)
        if await self._break(exchange, asking):
            return
        for part in parts[half:]:
            await exchange.send(part)
        await exchange.end()

    async def _break(self, exchange: Exchange, asking: Asking) -> bool:
        """Do what happens in the middle of a reply; return whether the rest of it is never told."""
        fault, step = asking.served.fault, asking.served.step
        if fault is Fault.GARBAGE:
            await exchange.send(b'data: {"choices": [{"del\xff\n\n<html>')
            await exchange.end()
            return True
        if fault is Fault.STALL:
            await self._record.hold(self._patience.stall_s)
        if fault in (Fault.STALL, Fault.DISCONNECT):
            return True
        if await self._happen(Kind.KILL, Moment.STREAM, step):
            return True
        if await self._happen(Kind.CANCEL, Moment.STREAM, step):
            await self._record.hold(self._patience.hold_s)
        return False

    async def _refuse(self, dialect: Dialect, exchange: Exchange, fault: Fault) -> None:
        refusal = _REFUSALS[fault]
        if dialect is ANTHROPIC:
            words = "prompt is too long: 210000 tokens > 200000 maximum" if fault is Fault.OVERFLOW else refusal.words
            refusal = attrs.evolve(refusal, kind=_KINDS[fault], words=words)
        headers = {"retry-after": "0"} if fault is Fault.RATE_LIMIT else None
        await exchange.answer(refusal.status, dialect.refuse(refusal), headers)


async def _tell_page(exchange: Exchange) -> None:
    page = b"<html><body>502 Bad Gateway</body></html>"
    await exchange.begin(200, {"content-type": "text/html", "content-length": str(len(page))})
    await exchange.send(page)
    await exchange.end()


def text_of(mark: str, place: int, *, calls: bool, cut: bool) -> str:
    """Return the words of a reply; they name it."""
    what = f"I will now do part {place}." if calls else "All of it is done."
    return f"{what} [{mark}-{place}{' half' if cut else ''}]"


def place_of(mark: str, text: str) -> int:
    """Return the place of a reply with calls by its words, -1 if they are not those of one."""
    found = re.search(rf"part (\d+)\. \[{re.escape(mark)}-\d+\]", text)
    return int(found[1]) if found else -1


def write_arguments(form: Form, entry: str) -> str:
    """Return the arguments of a call as the model writes them."""
    match form:
        case Form.GOOD:
            return json.dumps({"entry": entry, "count": 1})
        case Form.WRONG_TYPE:
            return json.dumps({"entry": [entry], "count": "one"})
        case Form.NO_JSON:
            return f'{{"entry": "{entry}", "count": }}'
        case Form.NO_OBJECT:
            return json.dumps([entry, 1])


def _id(ids: Ids, mark: str, place: int, index: int, asking: int) -> str:
    match ids:
        case Ids.FRESH:
            return f"call_{mark}_{asking}_{place}_{index}"
        case Ids.SAME:
            return f"call_{mark}_{asking}_{place}"
        case Ids.REUSED:
            return f"call_{mark}_{index}"
        case Ids.EMPTY:
            return ""


def tidy(body: str) -> Json | str:
    """Return a request for reading: as JSON where it is."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return value if isinstance(value, dict) else body
