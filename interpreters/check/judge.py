"""Judges what the program asked the model: each history, and each against the one before it.

A judge returns the rules that the record exercised, and what it found. It is pure: the record is all it looks at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from interpreters.check.record import Asking, Record
from interpreters.check.rules import Finding, Rule
from interpreters.check.scenarios import Fault, Kind, Moment
from interpreters.check.setup import Setup
from interpreters.check.wire import Item, WireCall

Judged = tuple[set[Rule], list[Finding]]
"""The rules that were exercised, and what broke."""


def judge_requests(record: Record, setup: Setup) -> Judged:
    """Judge every request, alone and in its place."""
    exercised: set[Rule] = set()
    found: list[Finding] = []
    for asking in record.askings:
        exercised |= {Rule.WELL_FORMED}
        found += [Finding(Rule.WELL_FORMED, what, asking.number) for what in asking.asked.complaints]
        for judged in (_pairing(asking), _origin(record, asking), _prompt(record, asking, setup)):
            exercised |= judged[0]
            found += judged[1]
    for judged in (_stability(record, setup), _silence(record, setup), _going_on(record)):
        exercised |= judged[0]
        found += judged[1]
    return exercised, found


# Each call and its result


def _pairing(asking: Asking) -> Judged:
    """Each call answered, once, directly behind its message, in order."""
    exercised: set[Rule] = set()
    found: list[Finding] = []
    items = asking.asked.items
    for place, item in enumerate(items):
        if item.calls:
            after = items[place + 1] if place + 1 < len(items) else Item("")
            later = [result.call_id for each in items[place + 1 :] for result in each.results]
            exercised |= {Rule.ANSWERED, Rule.ANSWERED_ONCE, Rule.ADJACENT}
            exercised |= {Rule.IN_ORDER} if len(item.calls) > 1 else set()
            found += _pair(asking.number, item.calls, after, later)
    return exercised, found


def _pair(number: int, calls: tuple[WireCall, ...], after: Item, later: list[str]) -> Iterator[Finding]:
    wanted = [call.id for call in calls]
    if doubled := [name for name, times in Counter(wanted).items() if times > 1]:
        yield Finding(Rule.WELL_FORMED, f"two calls of one message have the id {doubled[0]!r:.60}", number)
    given = [result.call_id for result in after.results]
    for call in calls:
        told = f"the call {call.name} ({call.id!r:.60})"
        if call.id in given:
            continue
        if call.id in later:
            yield Finding(Rule.ADJACENT, f"{told} is answered, but not directly behind its message", number)
        else:
            yield Finding(Rule.ANSWERED, f"{told} has no result", number)
    for name, times in Counter(given).items():
        if name in wanted and times > wanted.count(name):
            yield Finding(Rule.ANSWERED_ONCE, f"the call {name!r:.60} has {times} results", number)
    known = [name for name in given if name in wanted]
    if sorted(known) == sorted(wanted) and known != wanted:
        yield Finding(Rule.IN_ORDER, f"results stand in the order {known}, the calls in {wanted}", number)


# Where it all comes from


def _origin(record: Record, asking: Asking) -> Judged:
    """Every word, call and result of the history was given by the model or a tool."""
    found: list[Finding] = []
    called: set[str] = set()
    spoke = False
    for item in asking.asked.items:
        if item.role == "assistant":
            spoke = True
            called.update(call.id for call in item.calls)
            found += _invented(record, asking, item)
        for result in item.results:
            spoke = True
            if result.call_id not in called:
                what = f"a result for {result.call_id!r:.60}, which nothing in the history asks for"
                found.append(Finding(Rule.NOTHING_INVENTED, what, asking.number))
    return ({Rule.NOTHING_INVENTED} if spoke else set()), found


def _invented(record: Record, asking: Asking, item: Item) -> Iterator[Finding]:
    before = [each.served for each in record.askings[: asking.number - 1]]
    replies = [served.reply for served in before if served.reply is not None and served.fault not in _NEVER_WHOLE]
    if item.text.strip() and item.text.strip() not in {reply.text.strip() for reply in replies}:
        yield Finding(Rule.NOTHING_INVENTED, f"the model never said {item.text.strip()!r:.120}", asking.number)
    told = [call for reply in replies for call in reply.calls]
    for call in item.calls:
        entry = record.find_entry(call.arguments)
        same = [each for each in told if _names_it(record, each, call, entry)]
        if not same:
            what = f"the model never asked for {call.name}({call.arguments:.120}) in a message that was whole"
            yield Finding(Rule.NOTHING_INVENTED, what, asking.number)
        elif not any(_agree(each, call) for each in same):
            what = f"the model asked for {same[0].name}({same[0].arguments:.99}), not {call.name}({call.arguments:.99})"
            yield Finding(Rule.NOTHING_INVENTED, what, asking.number)


_NEVER_WHOLE = (Fault.STALL, Fault.DISCONNECT, Fault.GARBAGE)
"""Replies that broke off: nothing of them may enter a history."""


def _names_it(record: Record, told: WireCall, sent: WireCall, entry: str) -> bool:
    """Whether a call may be the one that was told: by its entry, else by its id, else because it had to be mended."""
    if entry:
        return record.find_entry(told.arguments) == entry
    return told.id == sent.id or (told.name == sent.name and not _is_object(told.arguments))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _agree(told: WireCall, sent: WireCall) -> bool:
    """Whether a call came back as it was told; arguments that are no object have to be mended, in whatever way."""
    if told.name != sent.name or not _is_object(told.arguments):
        return told.name == sent.name
    try:
        return bool(json.loads(sent.arguments) == json.loads(told.arguments))
    except (ValueError, RecursionError):
        return False


# One request and the next


def _prompt(record: Record, asking: Asking, setup: Setup) -> Judged:
    if _may_shorten(record, setup, asking.number):
        return set(), []
    if any(record.mark in item.text and item.role == "user" for item in asking.asked.items):
        return {Rule.PROMPT_KEPT}, []
    what = f"the prompt ({record.prompt!r:.80}) does not stand in the history"
    return {Rule.PROMPT_KEPT}, [Finding(Rule.PROMPT_KEPT, what, asking.number)]


def _may_shorten(record: Record, setup: Setup, number: int) -> bool:
    """Whether the history may have been replaced by a summary before a request."""
    faults = (asking.served.fault for asking in record.askings[: number - 1])
    return setup.compacts or Fault.OVERFLOW in faults


def _stability(record: Record, setup: Setup) -> Judged:
    """What was sent once begins every later request."""
    found = []
    pairs = [pair for pair in pairwise(record.askings) if not _may_shorten(record, setup, pair[1].number)]
    for former, later in pairs:
        old, new = former.asked.items, later.asked.items
        place = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(new))
        if place < len(old):
            now = _tell(new[place]) if place < len(new) else "nothing"
            what = f"message {place + 1} was {_tell(old[place])} in request {former.number} and is {now} now"
            found.append(Finding(Rule.HISTORY_STABLE, what, later.number))
    return ({Rule.HISTORY_STABLE} if pairs else set()), found


def _tell(item: Item) -> str:
    said = [repr(item.text)[:60]] if item.text else []
    said += [f"{call.name}({call.arguments:.60})" for call in item.calls]
    said += [f"result of {result.call_id:.40}: {result.content!r:.60}" for result in item.results]
    return f"{item.role}: {', '.join(said)}"


def _silence(record: Record, setup: Setup) -> Judged:
    """Nobody asks the model after the final answer, or after a cancel."""
    exercised: set[Rule] = set()
    found: list[Finding] = []
    if record.acted(Kind.CANCEL) and record.acted_at is not None:
        exercised.add(Rule.QUIET_AFTER_CANCEL)
        late = [each for each in record.askings if each.at > record.acted_at + setup.patience.margin_s]
        for asking in late[:1]:
            what = f"a request {asking.at - record.acted_at:.1f} s after the cancel"
            found.append(Finding(Rule.QUIET_AFTER_CANCEL, what, asking.number))
    ended = next((each for each in record.askings if each.served.good and not _calls(each)), None)
    if ended is not None and not record.acted(Kind.KILL):
        exercised.add(Rule.QUIET_AFTER_END)
        for asking in record.askings[ended.number : ended.number + 1]:
            what = f"a request after the final answer, which request {ended.number} had got"
            found.append(Finding(Rule.QUIET_AFTER_END, what, asking.number))
    return exercised, found


def _going_on(record: Record) -> Judged:
    """Where no deed was under way, nothing is in doubt, so nothing excuses a turn that is lost."""
    act = record.scenario.act
    in_doubt = act is None or act.moment not in (Moment.STREAM, Moment.NEXT_REQUEST)
    if in_doubt or not record.acted(Kind.KILL) or record.lives == 1:
        return set(), []
    if any(asking.life > 1 for asking in record.askings):
        return {Rule.GOES_ON}, []
    what = "it was killed while the model was answering, and started again without asking the model"
    return {Rule.GOES_ON}, [Finding(Rule.GOES_ON, what, len(record.askings))]


def _calls(asking: Asking) -> bool:
    return asking.served.reply is not None and bool(asking.served.reply.calls)
