"""An agent made of what was typed: model, tools, rules, limits, and who is asked."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import anyio
import attrs

from agentcore import PRESETS, Limits, ModelSettings
from agentcore.commands import AskApproval, InspectEffect
from agentcore.events import ApprovalDenied, ApprovalGranted, EffectInspected, EffectResolved
from agentcore.messages import clean_text
from agentcore.states import Call
from interpreters.agent import Agent
from interpreters.approvals import Lines, Nobody, StandingAnswer, TerminalApprover, TerminalLines
from interpreters.approvals.answers import denied, granted
from interpreters.cli.exits import Problem
from interpreters.cli.output import Output
from interpreters.cli.settings import MODEL_VARIABLES, Settings, endpoint, read_settings, sessions_place
from interpreters.cli.tracing import TransitionLog
from interpreters.models import NamedModel, Prices, PricesMissing, model_at
from interpreters.models.named import foreign_model, is_foreign
from interpreters.models.names import ModelNotNamed, Target
from interpreters.models.prices import is_listed
from interpreters.policy import Rule, Verdict
from interpreters.policy.matching import Command, Matcher, matcher
from interpreters.scripted import ScriptedModel, ScriptError, read_script
from interpreters.stores import FileStore
from interpreters.support import osio
from interpreters.support.ports import Approver
from interpreters.support.ports_model import Model
from interpreters.support.redaction import VALUE_LENGTH_MIN, Redactor
from interpreters.tools import Tool, file_tools, shell_tool

SCRIPT = "script:"
"""Before the path of a file with a scripted model's replies."""

_TELL_COST = ("openrouter",)

INSTRUCTIONS = (
    "You work in one directory of a computer. Use the tools to look before you say how something is, and to do what "
    "you are asked. When a result says that an effect may have happened, check before you do it again. When you are "
    "done, say shortly what you did."
)
"""The system prompt unless another one is given."""


@attrs.frozen
class Host:
    """Everything a command needs to open sessions."""

    agent: Agent
    """The agent."""
    place: Path
    """Where its sessions are."""
    waits: bool
    """A question ends the process, and the session waits."""
    approval: str
    """Who answers questions: ``ask``, ``yes``, ``no`` or ``wait``."""


def make_host(arguments: Namespace, output: Output, *, lines: Lines | None = None, asks_model: bool = True) -> Host:
    """Make the agent of a command. Raises ``Problem``, ``ToolDefinitionError``, or ``ValueError`` of the parts.

    ``lines``: where a person types, unless it is standard input itself. ``asks_model=False``: no model will be asked.
    """
    settings = read_settings(arguments)
    place = sessions_place(settings)
    approval = _approval(arguments, output)
    model, key = _model(arguments, settings) if asks_model else (ScriptedModel(()), "")
    secrets = (key,) if len(key) >= VALUE_LENGTH_MIN else ()
    agent = Agent(
        model=model,
        tools=_tools(arguments, Redactor(secrets)),
        instructions=_instructions(arguments.instructions),
        policy=arguments.policy,
        limits=_limits(arguments),
        settings=ModelSettings(),
        store=FileStore(place),
        rules=_rules(arguments.rules or ()),
        approver=_approver(approval, arguments, lines or TerminalLines(write=output.prompt)),
        log=TransitionLog(output) if arguments.trace else None,
        secrets=secrets,
    )
    return Host(agent, place, approval == "wait", approval)


def _model(arguments: Namespace, settings: Settings) -> tuple[Model, str]:
    prices = _prices(arguments.prices)
    named = settings.get("model", *MODEL_VARIABLES)
    if named is not None and named.value.startswith(SCRIPT):
        return scripted(Path(named.value.removeprefix(SCRIPT))), ""
    model = _asked(settings, prices)
    if arguments.max_cost is not None and prices is None:
        _check_price(model.target)
    return model, "".join(model.secrets)


def _asked(settings: Settings, prices: Prices | None) -> NamedModel:
    named = settings.get("model", *MODEL_VARIABLES)
    if named is not None and is_foreign(named.value):
        flags = [flag for flag in ("base_url", "dialect", "api_key") if settings.get(flag)]
        if flags:
            raise Problem(f"--{flags[0].replace('_', '-')} says nothing to pydantic-ai: it reads its own variables")
        try:
            return foreign_model(named.value, prices)
        except ModelNotNamed as error:
            raise Problem(str(error)) from error
    asked = endpoint(settings)
    try:
        return model_at(asked, prices=prices)
    except ValueError as error:
        told = ", ".join(dict.fromkeys(("AGENTCORE_BASE_URL", *asked.profile.url_variables)))
        raise Problem(f"{error}; it was given as --base-url or {told}") from error


def _check_price(asked: Target) -> None:
    """Refuse a limit of cost that nothing could ever reach. Raises ``Problem``."""
    if asked.profile.name in _TELL_COST:
        return
    try:
        listed = is_listed(asked.model, asked.base_url)
    except PricesMissing as error:
        raise Problem(f"--max-cost needs to know prices: {error}; or give --prices IN,OUT") from error
    if not listed:
        raise Problem(f"--max-cost: no price of {asked.model!r} at this address is known; give --prices IN,OUT")


def scripted(path: Path) -> Model:
    """Read a scripted model: a JSON list of what ``interpreters.scripted.read_script`` takes."""
    try:
        script = read_script(json.loads(read_text(path)))
    except (ScriptError, ValueError) as error:
        raise Problem(f"{path} is no script: {error}") from error
    return ScriptedModel(script, by_history=True)


def read_text(path: Path) -> str:
    """Return the text of a file the user named."""
    try:
        return osio.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}") from error


def _prices(told: str | None) -> Prices | None:
    if told is None:
        return None
    try:
        into, out = (round(float(each) * 1_000_000) for each in told.split(","))
    except (ValueError, OverflowError) as error:
        raise Problem(f"--prices is {told!r}: expected two numbers, such as 0.15,0.60 per million tokens") from error
    return Prices(into, out)


def _tools(arguments: Namespace, redactor: Redactor) -> list[Tool]:
    root = Path(arguments.workdir)
    shell = [] if arguments.no_shell else [shell_tool(root, redactor=redactor)]
    return [*file_tools(root), *shell]


def _instructions(told: str | None) -> str:
    if told is None:
        return INSTRUCTIONS
    return read_text(Path(told[1:])) if told.startswith("@") else clean_text(told)


def _limits(arguments: Namespace) -> Limits:
    given: dict[str, Any] = {
        "steps": arguments.max_steps,
        "tool_calls": arguments.max_tool_calls,
        "tokens": arguments.max_tokens,
        "cost_micros": None if arguments.max_cost is None else round(arguments.max_cost * 1_000_000),
        "turn_ms": None if arguments.timeout is None else round(arguments.timeout * 1000),
    }
    limits = PRESETS[arguments.policy].limits
    return attrs.evolve(limits, **{name: value for name, value in given.items() if value is not None})


def _rules(told: Iterable[tuple[str, str]]) -> list[Rule]:
    return [read_rule(verdict, text, number) for number, (verdict, text) in enumerate(told, 1)]


def read_rule(verdict: str, text: str, number: int) -> Rule:
    """Return the rule of ``--allow TOOL:ARG=PATTERN``; a command is matched by its words, anything else by a glob."""
    tool, colon, rest = text.partition(":")
    name, equals, pattern = rest.partition("=")
    if not tool or (colon and not (name and equals)):
        raise Problem(f"--{verdict} {text!r}: expected TOOL or TOOL:ARGUMENT=PATTERN, such as write_file:path=notes/*")
    where: dict[str, Matcher] = {}
    if colon:
        where[name] = _command_pattern(verdict, text, pattern) if name == "command" else matcher(pattern)
    try:
        return Rule(Verdict(verdict), tool, where, id=f"{verdict}-{number}", reason=clean_text(f"--{verdict} {text}"))
    except ValueError as error:
        raise Problem(f"--{verdict} {text!r}: {error}") from error


def _command_pattern(verdict: str, text: str, pattern: str) -> Command:
    try:
        words = tuple(shlex.split(pattern))
    except ValueError as error:
        raise Problem(f"--{verdict} {text!r}: the command cannot be read as words: {error}") from error
    if not words:
        raise Problem(f"--{verdict} {text!r}: a command has at least one word")
    return Command(words)


def _approval(arguments: Namespace, output: Output) -> str:
    watched = osio.is_terminal(0) and osio.is_terminal(2) and not output.as_json
    told: str | None = arguments.approval
    if told == "ask" and not watched:
        raise Problem("--approval ask needs a terminal for standard input and standard error, and no --json")
    return told or ("ask" if watched else "no")


def _approver(approval: str, arguments: Namespace, lines: Lines) -> Approver:
    person = TerminalApprover(lines) if osio.is_terminal(0) and osio.is_terminal(2) else Nobody()
    others: dict[str, Approver] = {
        "ask": person,
        "yes": Told(StandingAnswer(grant=True, by="--approval yes"), person),
        "no": Told(Nobody(), person),
        "wait": Later(),
    }
    answers = dict.fromkeys(getattr(arguments, "approve", ()), True) | dict.fromkeys(
        getattr(arguments, "refuse", ()), False
    )
    if not answers:
        return others[approval]
    return Named(answers, arguments.feedback, others[approval])


@attrs.frozen
class Told:
    """An ``Approver`` who has been told what to allow, beside a person who can look what became of an effect."""

    permission: Approver
    """Answers whether a call may run."""
    effects: Approver
    """Answers what became of one."""

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Answer as told."""
        return await self.permission.ask(session_id, order, call)

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Ask the person."""
        return await self.effects.ask_effect(session_id, order, call)


async def _never() -> NoReturn:
    await anyio.sleep_forever()
    raise AssertionError("for ever has ended")


class Later:
    """An ``Approver`` who will answer another time: questions stay open."""

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Leave it open."""
        await _never()

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Leave it open."""
        await _never()


@attrs.frozen
class Named:
    """An ``Approver`` who was told about single calls, as ``CALL`` or ``CALL:DIGEST``; others go to another one.

    With the beginning of a digest the word holds only for exactly the arguments that were shown (G-6).
    """

    answers: dict[str, bool]
    """Whether each call may run."""
    feedback: str
    """What is wanted instead of a refused one."""
    others: Approver
    """Who is asked about the rest."""

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Answer as told, or ask on."""
        for named, allowed in self.answers.items():
            call_id, _, sealed = named.partition(":")
            if call_id == call.call_id and order.digest.startswith(sealed):
                by = "--approve" if allowed else "--refuse"
                return granted(order, call, by=by) if allowed else denied(order, by=by, feedback=self.feedback)
        return await self.others.ask(session_id, order, call)

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Ask on."""
        return await self.others.ask_effect(session_id, order, call)
