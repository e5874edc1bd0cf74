"""What can be typed. Nothing is imported here but what is needed to say so."""

from __future__ import annotations

import argparse
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

EXIT_CODES = """\
exit codes:
  0 completed          1 failed            2 wrong usage or settings
  3 denied             4 cancelled         5 a limit was reached
  6 a person is waited for, or the outcome of an effect is unknown
  7 no such session    8 session locked    9 journal damaged
 10 newer journal     11 storage failed   70 a defect of this program
130 left by Ctrl-C; a session that was open can be resumed
"""
"""The table of ``exits``, short."""

VARIABLES = """\
environment (flags go first, then these, then the same names in ./.env):
  AGENTCORE_MODEL, OPENAI_MODEL         the model: PROVIDER:NAME, or a bare name
  ANTHROPIC_API_KEY, DEEPSEEK_API_KEY … the key of the provider that is named; never stored
  OPENAI_API_KEY, AGENTCORE_API_KEY     the key for a bare name
  OPENAI_BASE_URL, AGENTCORE_BASE_URL   where a bare name is asked
  AGENTCORE_HOME                        directory of the data; sessions lie in sessions/ inside it
  NO_COLOR                              no colour
"""
"""What can be set without flags."""


def parse(arguments: Sequence[str]) -> Namespace:
    """Read a command line; ``SystemExit`` with code 2 and a message if it cannot be read."""
    return make_parser().parse_args(arguments)


def make_parser() -> ArgumentParser:
    """Return the parser of the whole command line."""
    parser = ArgumentParser(
        prog="agentcore",
        description="Agent sessions that cannot be bricked and cannot act twice.",
        epilog=f"{EXIT_CODES}\n{VARIABLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and end")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (_run, _chat, _resume, _sessions, _show, _log, _inspect, _explore, _check, _demo):
        add(commands)
    return parser


class _Version(Action):
    """The version, looked up when it is asked for: reading what is installed takes longer than all the rest."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("agentcore-reducer")
        except PackageNotFoundError:
            found = "(not installed)"
        print(f"agentcore-reducer {found}")
        parser.exit()


class _Rule(Action):
    """``--allow``, ``--ask`` and ``--deny`` in the order in which they were given: the first that fits decides."""

    def __call__(self, _: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        told = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*told, ((option_string or "").lstrip("-"), values)])


def _command(commands: Any, name: str, does: str) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name)
    parser.add_argument("--json", dest="as_json", action="store_true", help="write JSON objects, one a line")
    return parser


def _place(parser: ArgumentParser) -> None:
    parser.add_argument("--sessions", metavar="DIR", help="where sessions are kept")
    parser.add_argument("--env-file", metavar="FILE", help="read settings from here instead of ./.env")


def _agent(parser: ArgumentParser) -> None:
    """Add what an agent is made of."""
    _place(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--model", metavar="NAME", help="PROVIDER:NAME, or script:FILE for replies from a file")
    model.add_argument("--base-url", metavar="URL", help="address of a server")
    model.add_argument("--dialect", choices=("chat", "responses", "anthropic"), help="what the server at it speaks")
    model.add_argument("--api-key", metavar="KEY", help="better set the variable: flags can be seen by other users")
    model.add_argument("--prices", metavar="IN,OUT", help="price per million tokens, for /cost and --max-cost")
    model.add_argument("--instructions", metavar="TEXT", help="the system prompt; @FILE reads it from a file")
    tools = parser.add_argument_group("tools and permission")
    tools.add_argument("--workdir", metavar="DIR", default=".", help="what file tools see and write; default: here")
    tools.add_argument("--no-shell", action="store_true", help="no tool that runs commands")
    for verdict in ("allow", "ask", "deny"):
        tools.add_argument(
            f"--{verdict}",
            action=_Rule,
            dest="rules",
            metavar="TOOL[:ARG=PATTERN]",
            help=f"{verdict} calls that fit; the first rule that fits decides",
        )
    tools.add_argument(
        "--approval",
        choices=("ask", "yes", "no", "wait"),
        help="who answers questions: you (default at a terminal), always yes, always no (default elsewhere), or leave "
        "the session waiting",
    )
    _limits(parser)
    parser.add_argument("--thinking", action="store_true", help="show what the model thinks, where it tells")
    parser.add_argument("--trace", action="store_true", help="tell every transition as it happens")
    parser.add_argument("--quiet", action="store_true", help="no progress at a terminal")


def _limits(parser: ArgumentParser) -> None:
    limits = parser.add_argument_group("limits of a turn")
    limits.add_argument("--policy", choices=("recommended", "strict", "open", "single_call"), default="recommended")
    limits.add_argument("--max-steps", metavar="N", type=_count, help="model requests")
    limits.add_argument("--max-tool-calls", metavar="N", type=_count, help="tool calls")
    limits.add_argument("--max-tokens", metavar="N", type=_count, help="tokens, input and output together")
    limits.add_argument("--max-cost", metavar="X", type=_amount, help="cost, in the currency of the prices")
    limits.add_argument("--timeout", metavar="S", type=_amount, help="seconds")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative: expected a whole number from 0 on")
    return value


def _jobs(text: str) -> int:
    if (value := _count(text)) < 1:
        raise argparse.ArgumentTypeError("expected a whole number from 1 on")
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 on")
    return value


def _run(commands: Any) -> None:
    parser = _command(commands, "run", "do a task in a new session")
    parser.add_argument("task", metavar="TASK", help="what to do; - reads it from standard input")
    parser.add_argument("--id", metavar="ID", dest="session_id", help="id of the new session; made up if not given")
    _agent(parser)


def _chat(commands: Any) -> None:
    parser = _command(commands, "chat", "talk in a new session, or in one that exists")
    parser.add_argument("session_id", metavar="ID", nargs="?", help="the session; a new one if not given")
    _agent(parser)


def _resume(commands: Any) -> None:
    does = "go on with a session where it stands, or with a further message"
    parser = _command(commands, "resume", does)
    parser.add_argument("session_id", metavar="ID")
    parser.add_argument("task", metavar="MESSAGE", nargs="?", help="what to say; - reads it from standard input")
    parser.add_argument("--accept-gap", metavar="WHO", help="go on although events are lost; WHO accepts that")
    parser.add_argument("--approve", metavar="CALL", action="append", default=[], help="allow a call that is asked for")
    parser.add_argument("--refuse", metavar="CALL", action="append", default=[], help="refuse it")
    parser.add_argument("--feedback", metavar="TEXT", default="", help="with --refuse: what to do instead")
    _agent(parser)


def _sessions(commands: Any) -> None:
    parser = _command(commands, "sessions", "list the sessions, newest first")
    parser.add_argument("--all", dest="every", action="store_true", help="not only the newest 20")
    _place(parser)


def _show(commands: Any) -> None:
    parser = _command(commands, "show", "show a conversation and where it stands")
    parser.add_argument("session_id", metavar="ID")
    parser.add_argument("--whole", action="store_true", help="leave nothing of a result out")
    parser.add_argument("--usage", action="store_true", help="tokens and cost of every attempt instead, and the sums")
    _place(parser)


def _log(commands: Any) -> None:
    does = "show every transition of a session with its evidence"
    parser = _command(commands, "log", does)
    parser.add_argument("session_id", metavar="ID")
    parser.add_argument("--audit", action="store_true", help="one record for each call instead: what ran, who let it")
    parser.add_argument("--whole", action="store_true", help="shorten nothing, and name what was ordered")
    _place(parser)


def _inspect(commands: Any) -> None:
    does = "show effects whose outcome is unknown, and what can be done about each; with flags, do it"
    parser = _command(commands, "inspect", does)
    parser.add_argument("session_id", metavar="ID")
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument("--look", metavar="CALL", help="have it looked at now")
    acts.add_argument(
        "--resolve",
        nargs=2,
        metavar=("CALL", "WHAT"),
        help="say what became of it: executed, failed, not-executed or abandoned",
    )
    acts.add_argument("--retry", metavar="CALL", help="run it again, where it is proved that it did not happen")
    parser.add_argument("--result", metavar="TEXT", default="", help="with --resolve: what came of it, for the model")
    parser.add_argument("--again", action="store_true", help="with --resolve CALL not-executed: run it again")
    _agent(parser)


def _explore(commands: Any) -> None:
    does = "search everything that can happen for a broken law"
    parser = _command(commands, "explore", does)
    parser.add_argument("names", metavar="NAME", nargs="*", help="explorations; all shipped ones if not given")
    parser.add_argument("--list", dest="only_list", action="store_true", help="name the shipped explorations")
    parser.add_argument("--deep", action="store_true", help="every three faults together too; takes much longer")
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=2, help="processors to use; default: 2")


def _check(commands: Any) -> None:
    does = "attack an agent program from outside: a hostile model, instrumented tools, kills and cancels"
    parser = _command(commands, "check", does)
    parser.usage = "agentcore check [options] -- PROGRAM [ARGUMENT ...]"
    parser.add_argument("program", metavar="PROGRAM", nargs="*", help="what to attack, with its arguments, behind --")
    means = parser.add_argument_group("what the program offers (see docs/check.md)")
    means.add_argument("--resume-command", metavar="CMD", default="", help="started after a kill; else no kills")
    means.add_argument("--cancel-command", metavar="CMD", default="", help="cancels; else SIGINT is sent")
    means.add_argument("--no-cancel", action="store_true", help="it cannot be cancelled")
    means.add_argument("--compacts", action="store_true", help="it may replace its history by a summary at any time")
    means.add_argument(
        "--dialect", choices=("any", "chat", "responses", "anthropic"), default="any", help="it speaks this"
    )
    played = parser.add_argument_group("what is played")
    played.add_argument("--scenarios", metavar="LIST", default="", help="names with commas between; all if not given")
    played.add_argument("--list", dest="only_list", action="store_true", help="tell the scenarios, play none")
    played.add_argument("--seed", metavar="N", type=_count, default=0, help="what generated scenarios are made from")
    played.add_argument("--generated", metavar="N", type=_count, default=10, help="how many are generated; default: 10")
    played.add_argument("--jobs", metavar="N", type=_jobs, default=2, help="scenarios at a time; default: 2")
    played.add_argument("--prompt", metavar="TEXT", help="what the user says")
    played.add_argument("--no-shrink", action="store_true", help="do not look for the shortest form of a failure")
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument("--connect", metavar="S", type=_amount, help="seconds to the first request; default: 30")
    bounds.add_argument("--idle", metavar="S", type=_amount, help="seconds without any act; default: 20")
    bounds.add_argument("--max-requests", metavar="N", type=_jobs, help="requests of one turn; default: 150")
    parser.add_argument("--junit", metavar="FILE", help="also write a JUnit report")


def _demo(commands: Any) -> None:
    does = "show a session killed between a deed and its record, and resumed: the deed is done once"
    parser = _command(commands, "demo", does)
    parser.add_argument("--model", choices=("scripted", "smollm2"), default="scripted", help="who answers")
    parser.add_argument("--approval", choices=("ask", "yes", "no"), help="answer the question instead of asking you")
    parser.add_argument("--lying-inspect", action="store_true", help="let the inspection lie, and see two deeds")
    parser.add_argument("--dir", metavar="DIR", help="work in this new directory, and keep it")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
