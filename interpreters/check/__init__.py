"""``agentcore check``: attacks any agent program from outside, and judges what it asks the model and does to the world.

```python
from interpreters import check

report = check.run(["python", "my_agent.py"], resume_command=["python", "my_agent.py", "--resume"])
assert report.held, report.to_text()
```

How to read it: ``scenarios`` is what is played and ``catalogue`` which; ``setup`` says how the program is started.
``play`` runs one scenario: the program meets ``model``, a hostile model in three dialects (``chat``, ``responses``,
``anthropic`` over ``wire`` and ``http``) and ``world``, instrumented tools (over HTTP, or by ``mcp``). What happened is
a ``record``; ``judge`` and ``deeds`` hold it against the ``rules``. ``shrink`` makes a failure short, ``script``
readable, ``report`` countable, and ``run`` does it all. The contract with the program is ``docs/check.md``.
"""

from __future__ import annotations

from interpreters.check.catalogue import NAMED, generated
from interpreters.check.play import CannotStart
from interpreters.check.report import Outcome, Report, Shrunk, Verdict
from interpreters.check.rules import MEANINGS, Finding, Means, Rule
from interpreters.check.run import Progress, attack, pick, run
from interpreters.check.scenarios import Act, Behaviour, Call, Fault, Form, Ids, Kind, Moment, Scenario, Step
from interpreters.check.setup import DIALECTS, Patience, Setup

__all__ = [
    "DIALECTS",
    "MEANINGS",
    "NAMED",
    "Act",
    "Behaviour",
    "Call",
    "CannotStart",
    "Fault",
    "Finding",
    "Form",
    "Ids",
    "Kind",
    "Means",
    "Moment",
    "Outcome",
    "Patience",
    "Progress",
    "Report",
    "Rule",
    "Scenario",
    "Setup",
    "Shrunk",
    "Step",
    "Verdict",
    "attack",
    "generated",
    "pick",
    "run",
]
