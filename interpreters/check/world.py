"""The world the program acts on: two tools behind a small HTTP interface, and the truth about what they did.

``GET /tools`` lists them, ``POST /tools/call`` runs one, ``POST /tools/approvals`` asks whether one may run, and
``GET /tools/deeds?key=`` tells whether a call with that key was done. A call may carry a ``key``: the same key again
gives the first answer and does nothing more. ``docs/check.md`` is the contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from interpreters.check.http import Exchange
from interpreters.check.model import Happen
from interpreters.check.record import Deed, Record
from interpreters.check.scenarios import GUARDED, RECORD, Behaviour, Form, Kind, Moment
from interpreters.check.setup import Patience
from interpreters.check.wire import Json

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"entry": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["entry", "count"],
    "additionalProperties": False,
}

TOOLS: tuple[Json, ...] = (
    {
        "name": RECORD,
        "description": "Write an entry into the book, once for each call.",
        "parameters": _PARAMETERS,
        "needs_approval": False,
    },
    {
        "name": GUARDED,
        "description": "Write an entry into the guarded book; somebody has to allow it first.",
        "parameters": _PARAMETERS,
        "needs_approval": True,
    },
)
"""What is offered to the program."""


class World:
    """The tools of one run."""

    def __init__(self, record: Record, patience: Patience, happen: Happen) -> None:
        self._record = record
        self._patience = patience
        self._happen = happen
        self._by_key: dict[str, Deed] = {}

    async def answer(self, place: str, exchange: Exchange) -> None:
        """Answer one request below ``/tools``; ``place`` is the rest of its path."""
        self._record.stir()
        match exchange.request.method, place:
            case "GET", "" | "/list":
                await exchange.answer(200, {"tools": TOOLS})
            case "POST", "/call":
                await self._call(exchange)
            case "POST", "/approvals":
                await self._approve(exchange)
            case "GET", "/deeds":
                await self._tell(exchange)
            case method, _:
                await exchange.answer(404, {"error": f"there is no {method} /tools{place}"})

    async def _tell(self, exchange: Exchange) -> None:
        deed = self._by_key.get(exchange.request.query.get("key", ""))
        found = {"found": True, "result": deed.receipt} if deed else {"found": False}
        await exchange.answer(200, found)

    async def _approve(self, exchange: Exchange) -> None:
        record = self._record
        _, arguments, _ = read_call(exchange.request.json())
        entry = str(arguments.get("entry", ""))
        record.questions.append(entry)
        call, act = record.call_of(entry), record.scenario.act
        denies = act is not None and act.kind is Kind.DENY and call is not None and call.tool == GUARDED
        if denies:
            record.denied.append(entry)
            record.acted_at = record.acted_at or record.now()
        record.note(f"the program asks about {entry!r:.60}: {'refused' if denies else 'allowed'}")
        await exchange.answer(200, {"approved": not denies, "reason": "the owner does not want this" if denies else ""})

    async def _call(self, exchange: Exchange) -> None:
        record = self._record
        tool, arguments, key = read_call(exchange.request.json())
        if tool not in (RECORD, GUARDED) or not _fit(arguments):
            record.note(f"the program calls {tool!r:.40} with {arguments!r:.80}: refused")
            error = f"{tool!r:.40} with these arguments is refused: expected entry (text) and count (integer)"
            await exchange.answer(422, {"error": error})
            return
        entry = arguments["entry"]
        if key and (former := self._by_key.get(key)):
            record.note(f"the program repeats {entry!r:.60} under its key: nothing more is done")
            await exchange.answer(200, {"result": former.receipt})
            former.delivered = former.delivered or exchange.sent
            return
        await self._act(exchange, tool, arguments, key)

    async def _act(self, exchange: Exchange, tool: str, arguments: Json, key: str) -> None:
        record, entry = self._record, arguments["entry"]
        behaviour, step = record.behaviour_of(entry), record.step_of(entry)
        if behaviour is Behaviour.FAILS:
            record.note(f"{tool} {entry!r:.60} fails: nothing is done")
            await exchange.answer(500, {"error": "the book is closed: nothing was written"})
            return
        if await self._happen(Kind.KILL, Moment.BEFORE_DEED, step):
            return
        deed = self._do(tool, arguments, key)
        if await self._happen(Kind.KILL, Moment.IN_DEED, step):
            return
        if await self._happen(Kind.CANCEL, Moment.IN_DEED, step):
            await record.hold(self._patience.hold_s)
        if behaviour is Behaviour.LOST or behaviour is Behaviour.HANGS:
            await record.hold(self._patience.hang_s if behaviour is Behaviour.HANGS else 0)
            return
        if behaviour is Behaviour.SLOW:
            await record.hold(self._patience.slow_s)
        await exchange.answer(200, {"result": deed.receipt})
        deed.delivered = exchange.sent
        record.stir()
        await self._happen(Kind.KILL, Moment.AFTER_DEED, step)

    def _do(self, tool: str, arguments: Json, key: str) -> Deed:
        record, entry = self._record, arguments["entry"]
        call, number = record.call_of(entry), len(record.deeds) + 1
        fits = call is not None and call.form is Form.GOOD and call.tool == tool and arguments["count"] == 1
        seal = hashlib.sha256(f"{record.mark}/{number}".encode()).hexdigest()[:10]
        deed = Deed(record.now(), record.lives, tool, entry, fits, receipt=f"written, receipt {seal}")
        record.deeds.append(deed)
        if key:
            self._by_key[key] = deed
        record.stir()
        return deed


def read_call(value: Any) -> tuple[str, Json, str]:
    """Return tool, arguments and key of a call; what does not fit counts as empty."""
    told = value if isinstance(value, dict) else {}
    name, arguments, key = told.get("name"), told.get("arguments"), told.get("key")
    return (
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, dict) else {},
        key if isinstance(key, str) else "",
    )


def _fit(arguments: Json) -> bool:
    count = arguments.get("count")
    whole = isinstance(count, int) and not isinstance(count, bool)
    return set(arguments) == {"entry", "count"} and isinstance(arguments["entry"], str) and whole
