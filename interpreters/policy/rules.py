"""The gate of an engine: rules in order, of which the first that matches decides.

1. A rule that guards against something dangerous comes before all others: no ``allow`` reaches past it.
2. What no rule matches is allowed if the tool only reads, else asked about.
3. The decision names the rule and carries exactly the arguments it was about, and their digest. A person, and the
   reducer, are bound to these.
4. A rule that breaks refuses: the engine takes an exception here as a block.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal

import attrs

from agentcore.commands import EvaluatePolicy
from agentcore.events import PolicyAllowed, PolicyAsked, PolicyBlocked
from agentcore.messages import digest
from agentcore.states import Call
from interpreters.policy.dangerous import danger_in
from interpreters.policy.matching import Command, Matcher, matcher, text_at
from interpreters.support.ports import STAMPED

DANGEROUS = "dangerous-command"
"""Rule id of a command that would ruin the machine."""
DEFAULT_PURE = "default-pure"
"""Rule id where no rule matched a tool that only reads."""
DEFAULT = "default"
"""Rule id where no rule matched any other tool."""

Decision = PolicyAllowed | PolicyAsked | PolicyBlocked


class Verdict(StrEnum):
    """What a rule says (R-113)."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


def _matchers(where: Mapping[str, str | Matcher]) -> tuple[tuple[str, Matcher], ...]:
    return tuple((path, matcher(pattern)) for path, pattern in where.items())


@attrs.frozen
class Rule:
    """One rule. ``ValueError`` if it could allow more than it says."""

    verdict: Verdict = attrs.field(converter=Verdict)
    """What it says."""
    tool: str = "*"
    """Glob for the tool's name."""
    where: tuple[tuple[str, Matcher], ...] = attrs.field(default={}, converter=_matchers)
    """Arguments, ``a.b`` for one inside another, and what they must match; an argument that is missing does not."""
    id: str = ""
    """Names it in the decision; made of verdict and tool where it is not given."""
    reason: str = ""
    """Why, for the model and for the person who is asked."""
    dangerous: bool = False
    """With ``deny``: it guards against something dangerous (D-1)."""

    def __attrs_post_init__(self) -> None:
        """Give it an id, and refuse what would not hold."""
        if not self.id:
            object.__setattr__(self, "id", f"{self.verdict.value}-{self.tool}")
        if self.dangerous and self.verdict is not Verdict.DENY:
            raise ValueError(f"rule {self.id!r}: what is dangerous is denied, found {self.verdict.value!r}")
        loose = [path for path, pattern in self.where if path == "command" and not isinstance(pattern, Command)]
        if self.verdict is Verdict.ALLOW and loose:
            advice = "use Command('git', 'status'), which allows no second command behind the first"
            raise ValueError(f"rule {self.id!r}: a pattern for a command allows whatever is added to it; {advice}")

    def matches(self, tool: str, arguments: Any) -> bool:
        """Say whether the rule is about this call."""
        if not fnmatch.fnmatchcase(tool, self.tool):
            return False
        return all((text := text_at(arguments, path)) is not None and each.matches(text) for path, each in self.where)


def allow(tool: str = "*", *, id: str = "", **where: str | Matcher) -> Rule:  # noqa: A002 - the word of the field
    """Make a rule that lets a call run: ``allow("write_file", path=Under("src", root))``."""
    return Rule(Verdict.ALLOW, tool, where, id)


def ask(tool: str = "*", *, id: str = "", reason: str = "", **where: str | Matcher) -> Rule:  # noqa: A002 - as above
    """Make a rule that has a person decide."""
    return Rule(Verdict.ASK, tool, where, id, reason)


def deny(tool: str = "*", *, id: str = "", reason: str = "", dangerous: bool = False, **where: str | Matcher) -> Rule:  # noqa: A002 - as above
    """Make a rule that refuses a call."""
    return Rule(Verdict.DENY, tool, where, id, reason, dangerous)


class Rules:
    """A ``ports.Gate``: the rules of one host."""

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        default: Literal["allow", "ask", "deny"] = "ask",
        dangerous_in: Mapping[str, str] | None = None,
    ) -> None:
        """Take rules in order; ``ValueError`` if two share an id.

        ``default`` is for tools that can act and match no rule. ``dangerous_in`` names, for a tool, the argument that
        is looked through for dangerous commands; by default ``command`` of ``shell``, and an empty mapping for none.
        """
        self._rules = tuple(rules)
        ids = [rule.id for rule in self._rules]
        doubled = sorted({each for each in ids if ids.count(each) > 1})
        if doubled:
            raise ValueError(f"two rules have the id {', '.join(doubled)}: give each its own with id=")
        self._default = Verdict(default)
        self._dangerous_in = {"shell": "command"} if dangerous_in is None else dict(dangerous_in)

    async def evaluate(self, session_id: str, order: EvaluatePolicy, call: Call) -> Decision:
        """Decide about exactly ``call.arguments``."""
        rule = self.decide(call)
        key: dict[str, Any] = {
            "at": STAMPED,
            "call_id": order.call_id,
            "epoch": order.epoch,
            "attempt": order.attempt,
            "rule": rule.id,
        }
        if rule.verdict is Verdict.DENY:
            reason = rule.reason or f"the rule {rule.id!r} does not allow it"
            return PolicyBlocked(**key, reason=reason, dangerous=rule.dangerous)
        bound: dict[str, Any] = {"arguments": call.arguments, "digest": digest(call.arguments)}
        if rule.verdict is Verdict.ASK:
            return PolicyAsked(**key, **bound, reason=rule.reason)
        return PolicyAllowed(**key, **bound)

    def decide(self, call: Call) -> Rule:
        """Return the rule that decides about a call."""
        arguments = json.loads(call.arguments)
        if why := self._danger(call.name, arguments):
            return Rule(Verdict.DENY, call.name, id=DANGEROUS, reason=f"the command is refused: {why}", dangerous=True)
        matching = (rule for rule in self._rules if rule.matches(call.name, arguments))
        return next(matching, None) or self._fallback(call)

    def _danger(self, tool: str, arguments: Any) -> str:
        path = self._dangerous_in.get(tool)
        command = text_at(arguments, path) if path else None
        return danger_in(command) if command else ""

    def _fallback(self, call: Call) -> Rule:
        if call.contract.pure:
            return Rule(Verdict.ALLOW, call.name, id=DEFAULT_PURE)
        reason = f"no rule is about {call.name}, and it does more than read"
        return Rule(self._default, call.name, id=DEFAULT, reason=reason)
