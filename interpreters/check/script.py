"""A failure as a script: what the model was to say, what then happened in order, and the request that shows the fault.

Everything in it comes from the program or was made up for it: it is shown bounded, and with no control characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from interpreters.check.model import tidy
from interpreters.check.record import Asking, Record
from interpreters.check.rules import MEANINGS, Finding
from interpreters.check.scenarios import Behaviour, Call, Form, Ids, Scenario, Step
from interpreters.support.cleaning import visible

_LINE_MAX = 300
_REQUEST_LINES_MAX = 120
_EVENTS_MAX = 60


def shown(text: str, most: int = _LINE_MAX) -> str:
    """Return untrusted text as one line that can be shown anywhere."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def script_of(record: Record, findings: Sequence[Finding], note: str) -> str:
    """Return the script of a run; ``note`` stands behind the name."""
    scenario = record.scenario
    lines = [f"scenario {scenario.name}{f'  ({note})' if note else ''}"]
    lines += [
        f"  broken    {finding.rule}: {MEANINGS[finding.rule]}\n            {shown(finding.what)}"
        for finding in findings
    ]
    lines += ["  the model", *(f"    {line}" for line in describe(scenario))]
    events = list(_events(record))
    lines += ["  what happened", *(f"    {line}" for line in events[:_EVENTS_MAX])]
    if len(events) > _EVENTS_MAX:
        lines.append(f"    … and {len(events) - _EVENTS_MAX} lines more")
    number = next((finding.request for finding in findings if finding.request), 0)
    if 0 < number <= len(record.askings):
        lines += [f"  request {number}", *(f"    {line}" for line in _request(record.askings[number - 1]))]
    return "\n".join(lines)


def describe(scenario: Scenario) -> Iterator[str]:
    """Return the scenario in words, a line for each step."""
    steps = scenario.steps if scenario.endless else scenario.replies
    for place, step in enumerate(steps):
        last = scenario.endless and place == len(steps) - 1
        yield f"{place + 1}. {'for ever: ' if last else ''}{_describe_step(step)}"
    if scenario.act is not None:
        where = "" if scenario.act.kind == "deny" else f" {scenario.act.moment}, step {scenario.act.step + 1}"
        yield f"   once: {scenario.act.kind}{where}"


def _describe_step(step: Step) -> str:
    calls = ", ".join(_describe_call(call) for call in step.calls)
    extras = [f"ids {step.ids}"] if step.ids is not Ids.FRESH else []
    extras += ["labelled as the end"] if step.labelled_stop else []
    faults = f"first {', then '.join(step.instead)}; then " if step.instead else ""
    return f"{faults}{f'asks for {calls}' if calls else 'gives its final answer'}{_aside(extras)}"


def _describe_call(call: Call) -> str:
    extras: list[str] = [call.form] if call.form is not Form.GOOD else []
    extras += [call.behaviour] if call.behaviour is not Behaviour.QUICK else []
    return f"{call.tool}{_aside(extras)}"


def _aside(extras: Sequence[str]) -> str:
    return f" ({', '.join(extras)})" if extras else ""


def _events(record: Record) -> Iterator[str]:
    told = [(note.at, note.what) for note in record.notes]
    told += [(asking.at, _describe_asking(asking)) for asking in record.askings]
    told += [(deed.at, f"{deed.tool} writes {deed.entry!r}") for deed in record.deeds]
    for at, what in sorted(told, key=lambda each: each[0]):
        yield f"{at:7.2f} s  {shown(what)}"


def _describe_asking(asking: Asking) -> str:
    return f"request {asking.number}: {len(asking.asked.items)} messages; it gets {_answer(asking)}"


def _answer(asking: Asking) -> str:
    served = asking.served
    calls = ", ".join(f"{call.name}({call.arguments})" for call in served.reply.calls) if served.reply else ""
    if served.fault is not None:
        return f"{served.fault}{f' of {calls}' if calls else ''}"
    return calls or "the final answer"


def _request(asking: Asking) -> Iterator[str]:
    yield f"POST {shown(asking.path)}"
    body = tidy(asking.body)
    text = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=True)
    lines = text.split("\n")
    for line in lines[:_REQUEST_LINES_MAX]:
        yield visible(line)[:_LINE_MAX]
    if len(lines) > _REQUEST_LINES_MAX:
        yield f"… and {len(lines) - _REQUEST_LINES_MAX} lines more"
