"""``inspect``: effects nobody can vouch for, what can be done about each, and doing it."""

from __future__ import annotations

from argparse import Namespace

import anyio

from agentcore import outstanding
from agentcore.commands import InspectEffect
from agentcore.events import Resolution
from agentcore.projections import ApproveCall, pending_acts, ui_status
from agentcore.states import State
from interpreters.cli.exits import Exit, Problem
from interpreters.cli.host import make_host
from interpreters.cli.output import Output
from interpreters.cli.reading import open_store
from interpreters.cli.turns import Turn
from interpreters.engine import Receipt, Session, read_state
from interpreters.frontends import Remedy, call_line, effects_text, effects_values
from interpreters.support.cleaning import visible

_DIGEST_SHOWN = 12


def inspect(arguments: Namespace, output: Output) -> int:
    """Show unknown effects, or act on one."""
    state = anyio.run(read_state, open_store(arguments), arguments.session_id)
    if arguments.look or arguments.resolve or arguments.retry:
        return _act(arguments, output, state)
    if output.as_json:
        output.value({"session_id": state.session_id, "effects": effects_values(state), "questions": _asked(state)})
    else:
        _page(arguments.session_id, state, output)
    return Exit.UNRESOLVED if effects_values(state) or _questions(state) else Exit.COMPLETED


def _questions(state: State) -> list[ApproveCall]:
    return [act for act in pending_acts(state) if isinstance(act, ApproveCall)]


def _asked(state: State) -> list[dict[str, str]]:
    return [
        {"call_id": each.call_id, "name": each.name, "arguments": each.arguments, "digest": each.digest}
        for each in _questions(state)
    ]


def _page(session_id: str, state: State, output: Output) -> None:
    style = output.page_style
    for asked in _questions(state):
        named = f"{asked.call_id}:{asked.digest[:_DIGEST_SHOWN]}"
        output.page(
            f"{style.unsure('?')} May {call_line(asked.name, asked.arguments)} run?\n"
            f"    - allow or refuse it:\n"
            f"        agentcore resume {session_id} --approve {named}\n"
            f"        agentcore resume {session_id} --refuse {named} --feedback 'what to do instead'"
        )
    found = effects_text(state, style, lambda remedy: _typed(session_id, remedy))
    if found:
        output.page(found)
    output.page(style.bold(visible(ui_status(state).text)))


def _typed(session_id: str, remedy: Remedy) -> tuple[str, ...]:
    """Return what to type for a remedy."""
    begin = f"agentcore inspect {session_id}"
    if remedy.act == "look":
        return (f"{begin} --look {remedy.call_id}",)
    if remedy.act == "retry":
        return (f"{begin} --retry {remedy.call_id}",)
    words = ("executed --result TEXT", "failed --result TEXT", "not-executed [--again]", "abandoned")
    return tuple(f"{begin} --resolve {remedy.call_id} {each}" for each in words)


def _act(arguments: Namespace, output: Output, state: State) -> int:
    """Open the session, act, and follow it to where it rests. A turn that is open goes on by that."""
    host = make_host(arguments, output, asks_model=state.open)
    turn = Turn(host, output, thinking=arguments.thinking)

    async def act(session: Session) -> None:
        receipt = await _acted(session, arguments)
        if receipt.rejection is not None:
            raise Problem(f"refused: {receipt}. See what can be done: agentcore inspect {session.session_id}")
        await _found_out(session)

    return anyio.run(lambda: turn.drive(arguments.session_id, act))


async def _acted(session: Session, arguments: Namespace) -> Receipt:
    if arguments.look:
        return await session.inspect(arguments.look)
    if arguments.retry:
        return await session.retry(arguments.retry)
    call_id, told = arguments.resolve
    return await session.resolve(call_id, _resolution(told), arguments.result, retry=arguments.again)


def _resolution(told: str) -> Resolution:
    try:
        return Resolution(told)
    except ValueError as error:
        raise Problem(f"--resolve: {told!r} is none of {', '.join(Resolution)}") from error


async def _found_out(session: Session) -> None:
    """Wait until nobody looks any more: between turns nothing else says when that is."""
    views = session.views()
    while not session.state.open and any(isinstance(each, InspectEffect) for each in outstanding(session.state)):
        await anext(views)
