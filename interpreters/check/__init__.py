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
readable, ``report`` countable, and ``campaign`` does it all. The contract with the program is ``docs/check.md``.

Names are loaded when they are first used: the MCP server is started often, and needs none of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interpreters.check.campaign import Progress, attack, pick, run
    from interpreters.check.catalogue import NAMED, generated
    from interpreters.check.play import CannotStart
    from interpreters.check.report import Outcome, Report, Shrunk, Verdict
    from interpreters.check.rules import MEANINGS, Finding, Means, Rule
    from interpreters.check.scenarios import Act, Behaviour, Call, Fault, Form, Ids, Kind, Moment, Scenario, Step
    from interpreters.check.setup import DIALECTS, Patience, Setup

_HOMES: Mapping[str, tuple[str, ...]] = {
    "interpreters.check.catalogue": ("NAMED", "generated"),
    "interpreters.check.play": ("CannotStart",),
    "interpreters.check.report": ("Outcome", "Report", "Shrunk", "Verdict"),
    "interpreters.check.rules": ("MEANINGS", "Finding", "Means", "Rule"),
    "interpreters.check.campaign": ("Progress", "attack", "pick", "run"),
    "interpreters.check.scenarios": (
        "Act",
        "Behaviour",
        "Call",
        "Fault",
        "Form",
        "Ids",
        "Kind",
        "Moment",
        "Scenario",
        "Step",
    ),
    "interpreters.check.setup": ("DIALECTS", "Patience", "Setup"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    for home, public in _HOMES.items():
        if name in public:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'interpreters.check' has no attribute {name!r}")


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
