"""Rules: which call may run, which is asked about, which is refused.

``Rules`` is the gate an engine asks; ``allow``, ``ask`` and ``deny`` make its rules.
"""

from __future__ import annotations

from interpreters.policy.dangerous import danger_in
from interpreters.policy.matching import Command, Matcher, Regex, Under
from interpreters.policy.rules import Rule, Rules, Verdict, allow, ask, deny

__all__ = ["Command", "Matcher", "Regex", "Rule", "Rules", "Under", "Verdict", "allow", "ask", "danger_in", "deny"]
