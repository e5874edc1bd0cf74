"""One process of the demonstration: it works on the session until the turn ends, or until it is killed.

``python -m interpreters.cli.demo.worker``; ``interpreters.cli.demo`` starts it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import anyio

from agentcore import ModelSettings
from interpreters.agent import Agent
from interpreters.approvals import StandingAnswer, TerminalApprover, TerminalLines
from interpreters.cli.demo.story import SESSION, TASK, Room, story_model, story_tools
from interpreters.cli.demo.telling import Teller
from interpreters.cli.exits import Exit, exit_of
from interpreters.engine import Hooks, Session, Subscription
from interpreters.policy import Rule, allow, ask
from interpreters.stores import FileStore
from interpreters.support.ports import Approver
from interpreters.support.ports_model import Model

RULES: tuple[Rule, ...] = (allow("read_file"), ask("add_line", reason="it changes the ledger"))
"""What may run."""


def main() -> int:
    """Work, and return the exit code of the turn's end."""
    parser = ArgumentParser(prog="agentcore demo (worker)", allow_abbrev=False)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--approval", choices=("ask", "yes", "no"), required=True)
    parser.add_argument("--dies", action="store_true")
    parser.add_argument("--lies", action="store_true")
    parser.add_argument("--resumes", action="store_true")
    parser.add_argument("--json", dest="as_json", action="store_true")
    arguments = parser.parse_args()
    try:
        return anyio.run(_work, arguments, Teller(as_json=arguments.as_json))
    except KeyboardInterrupt:
        return Exit.LEFT


async def _work(arguments: Namespace, teller: Teller) -> int:
    task, parts = _cast(arguments.model)
    room = Room(arguments.dir)
    agent = Agent(
        tools=story_tools(room, dies=arguments.dies, lies=arguments.lies),
        store=FileStore(room.sessions),
        rules=RULES,
        approver=_approver(arguments.approval, teller),
        log=teller,
        **parts,
    )
    async with anyio.create_task_group() as tasks, agent.open(SESSION, create=not arguments.resumes) as session:
        tasks.start_soon(_show, session.views(after=0), teller)
        result = await _turn(session, "" if arguments.resumes else task)
        end = type(session.state.phase)
    return exit_of(result, end)


async def _turn(session: Session, task: str) -> Any:
    if task:
        await session.send(task)
    return await session.wait()


async def _show(views: Subscription, teller: Teller) -> None:
    async for shown in views:
        teller.show(shown)


def _cast(named: str) -> tuple[str, dict[str, Any]]:
    """Return what is asked, and the parts of the agent that depend on who answers."""
    if named == "scripted":
        model: Model = story_model()
        return TASK, {"model": model}
    from interpreters.cli.demo import smollm2

    hooks = Hooks(convert_to_wire=smollm2.with_examples)
    settings = ModelSettings(smollm2.NAME, smollm2.OPTIONS)
    parts = {"model": smollm2.start(), "hooks": hooks, "settings": settings, "instructions": smollm2.INSTRUCTIONS}
    return smollm2.TASK, parts


def _approver(approval: str, teller: Teller) -> Approver:
    if approval == "ask":
        return TerminalApprover(TerminalLines(write=teller.ask))
    return StandingAnswer(grant=approval == "yes", by="the demonstration")


if __name__ == "__main__":
    sys.exit(main())
