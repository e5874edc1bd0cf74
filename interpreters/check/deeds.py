"""Judges what the program did to the world, against what the model asked for and what people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from interpreters.check.judge import Judged
from interpreters.check.record import Asking, Deed, Record
from interpreters.check.rules import Finding, Means, Rule
from interpreters.check.scenarios import CUTS, GUARDED, UNKNOWN, Behaviour, Form, Kind
from interpreters.check.setup import Setup
from interpreters.check.wire import Item


def judge_deeds(record: Record, setup: Setup) -> Judged:
    """Judge every deed."""
    exercised: set[Rule] = set()
    found: list[Finding] = []
    parts = (_once(record), _cut(record), _asked(record), _cancelled(record, setup), _denied(record))
    for judged in (*parts, _results(record), _continued(record)):
        exercised |= judged[0]
        found += judged[1]
    return exercised, found


def _once(record: Record) -> Judged:
    found = []
    for entry, times in Counter(deed.entry for deed in record.deeds).items():
        if times > 1:
            lives = sorted({deed.life for deed in record.deeds if deed.entry == entry})
            where = "before and after the kill" if len(lives) > 1 else "in one life of the program"
            found.append(Finding(Rule.EXECUTED_ONCE, f"{entry!r:.60} was written {times} times, {where}"))
    return ({Rule.EXECUTED_ONCE} if record.deeds else set()), found


def _cut(record: Record) -> Judged:
    shown = any(served.fault in CUTS for served, _ in record.served_calls())
    found = [
        Finding(Rule.CUT_NOT_RUN, f"{deed.entry!r:.60} was written, but the message that asked for it was not whole")
        for deed in record.deeds
        if deed.entry.endswith("-cut") and record.find_entry(deed.entry)
    ]
    return ({Rule.CUT_NOT_RUN} if shown else set()), found


def _asked(record: Record) -> Judged:
    """Whatever ran was asked for, so; arguments that cannot be read are nobody's to guess."""
    odd = any(call.form is not Form.GOOD for step in record.scenario.steps for call in step.calls)
    found = [
        Finding(Rule.AS_ASKED, f"{deed.tool} wrote {deed.entry!r:.80}, which the model did not ask for like that")
        for deed in record.deeds
        if not deed.fits or not (deed.entry.endswith("-cut") or _was_told(record, deed))
    ]
    return ({Rule.AS_ASKED} if record.deeds or (odd and record.askings) else set()), found


def _was_told(record: Record, deed: Deed) -> bool:
    return any(record.find_entry(call.arguments) == deed.entry for _, call in record.served_calls())


def _cancelled(record: Record, setup: Setup) -> Judged:
    if not record.acted(Kind.CANCEL) or record.acted_at is None:
        return set(), []
    late = [deed for deed in record.deeds if deed.at > record.acted_at + setup.patience.margin_s]
    return {Rule.NOT_AFTER_CANCEL}, [
        Finding(
            Rule.NOT_AFTER_CANCEL, f"{deed.entry!r:.60} was begun {deed.at - record.acted_at:.1f} s after the cancel"
        )
        for deed in late
    ]


def _denied(record: Record) -> Judged:
    """A program that asks nobody has no means to be refused: it is not applicable, and no pass."""
    act = record.scenario.act
    if act is None or act.kind is not Kind.DENY:
        return set(), []
    if not record.denied:
        told = (
            record.call_of(record.find_entry(call.arguments)) for served, call in record.served_calls() if served.good
        )
        if any(call.tool == GUARDED and call.form is Form.GOOD for call in told if call):
            record.lacking.add(Means.APPROVALS)
        return set(), []
    return {Rule.NOT_AFTER_DENIAL}, [
        Finding(Rule.NOT_AFTER_DENIAL, f"{deed.entry!r:.60} was written after it had been refused")
        for deed in record.deeds
        if deed.entry in record.denied
    ]


# What the model is told of it


def _results(record: Record) -> Judged:
    """A result holds the receipt of its own deed, and of no other."""
    exercised: set[Rule] = set()
    found: list[Finding] = []
    for asking in record.askings:
        for place, item in enumerate(asking.asked.items):
            for result in item.results:
                entry = _entry_behind(record, asking.asked.items[:place], result.call_id)
                own = [deed for deed in record.deeds if entry and deed.entry == entry]
                exercised |= {Rule.RESULT_OF_ITS_CALL} if own else set()
                found += _compare(record, asking, result.content, entry, own)
    return exercised, found


def _entry_behind(record: Record, items: tuple[Item, ...], call_id: str) -> str:
    calls = (call for item in reversed(items) for call in item.calls if call.id == call_id)
    call = next(calls, None)
    return record.entry_of_call(call) if call else ""


def _compare(record: Record, asking: Asking, content: str, entry: str, own: list[Deed]) -> Iterator[Finding]:
    for deed in record.deeds:
        if deed.entry != entry and deed.receipt in content:
            what = f"the result of {entry!r:.60} is that of {deed.entry!r:.60}"
            yield Finding(Rule.RESULT_OF_ITS_CALL, what, asking.number)
    told = [deed for deed in own if deed.delivered and deed.life == asking.life]
    quick = record.behaviour_of(entry) is Behaviour.QUICK and record.acted_at is None
    if told and quick and not any(deed.receipt in content for deed in own):
        what = f"the tool answered {told[0].receipt!r} for {entry!r:.60}, the model is told {content!r:.120}"
        yield Finding(Rule.RESULT_OF_ITS_CALL, what, asking.number)


def _continued(record: Record) -> Judged:
    """Where nothing at all went wrong, results go back to the model."""
    scenario = record.scenario
    if scenario.endless or scenario.act is not None or not record.askings or Means.TOOLS in record.lacking:
        return set(), []
    last = record.askings[-1]
    calls = scenario.at(last.served.step).calls if last.served.good and last.served.reply else ()
    plain = all(call.form is Form.GOOD and call.tool != UNKNOWN for call in calls)
    quick = all(call.behaviour in (Behaviour.QUICK, Behaviour.SLOW) for call in calls)
    if calls and plain and quick:
        what = f"request {last.number} was answered with calls, and no request with their results came after it"
        return {Rule.CONTINUES}, [Finding(Rule.CONTINUES, what, last.number)]
    return ({Rule.CONTINUES} if len(record.askings) > 1 and scenario.asks_for_deeds else set()), []
