"""Small loops for the tests: a sound one, and for each law of agent loops one that breaks it.

The sound one is over after one batch of calls ``a`` and ``b``; each broken one differs from it in one thing.
"""

from __future__ import annotations

import attrs

from agentcore.testing.protocol import CallAsked, CallDenied, DeedDone, RequestMade, ResultGiven, TurnBegun

EVENTS = (
    "prompt",
    "calls a b",
    "allow a",
    "deny a",
    "result a",
    "result b",
    "result x",
    "answer",
    "tick",
)


@attrs.frozen
class State:
    phase: str = "idle"
    open: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    permitted: str = "open"
    shown: tuple[str, ...] = ()


class Sound:
    """Asks a permission for ``a``, runs ``b`` at once, and takes each result once."""

    initial = State()

    def enabled(self, state):
        return EVENTS

    def reduce(self, state, event):
        word, *calls = event.split()
        return getattr(self, word)(state, *calls)

    def prompt(self, state):
        return (State("asking"), ["request"]) if state.phase in ("idle", "done") else (state, [])

    def calls(self, state, *calls):
        if state.phase != "asking" or state.asked:
            return state, []
        return attrs.evolve(state, phase="running", open=frozenset(calls), asked=frozenset(calls)), ["run b"]

    def allow(self, state, call):
        if state.phase != "running" or state.permitted != "open":
            return state, []
        return attrs.evolve(state, permitted="yes"), [f"run {call}"]

    def deny(self, state, call):
        if state.phase != "running" or state.permitted != "open":
            return state, []
        return self.settled(attrs.evolve(state, permitted="no"), call)

    def result(self, state, call):
        if call not in state.open or (call == "a" and state.permitted != "yes"):
            return state, []
        return self.settled(state, call)

    def settled(self, state, call):
        left = state.open - {call}
        shown = (*state.shown, call)
        if left:
            return attrs.evolve(state, open=left, shown=shown), []
        return attrs.evolve(state, phase="asking", open=left, shown=shown), ["request"]

    def answer(self, state):
        return (attrs.evolve(state, phase="done"), []) if state.phase == "asking" else (state, [])

    def tick(self, state):
        return state, []

    def told(self, event):
        word, *calls = event.split()
        kinds = {"calls": CallAsked, "deny": CallDenied, "result": ResultGiven}
        return [TurnBegun()] if word == "prompt" else [kinds[word](call) for call in calls if word in kinds]

    def ordered(self, command):
        return [RequestMade()] if command == "request" else [DeedDone(command.removeprefix("run "))]

    def ended(self, state):
        return state.phase == "done"

    def answered(self, state):
        return state.shown


class TakesTwice(Sound):
    def result(self, state, call):
        if call in state.asked and call not in state.open and state.phase == "running":
            return attrs.evolve(state, permitted="yes" if state.permitted == "open" else "no"), []
        return super().result(state, call)


class TakesOrphans(Sound):
    def result(self, state, call):
        if call == "x" and state.phase == "running":
            return attrs.evolve(state, permitted="no"), []
        return super().result(state, call)


class AsksAfterTheEnd(Sound):
    def tick(self, state):
        return state, ["request"] if state.phase == "done" else []


class RunsAfterTheEnd(Sound):
    def tick(self, state):
        return state, ["run b"] if state.phase == "done" and "b" in state.asked else []


class GoesOn(Sound):
    def tick(self, state):
        return (attrs.evolve(state, phase="asking"), []) if state.phase == "done" else (state, [])


class AsksWithAnOpenCall(Sound):
    def tick(self, state):
        return state, ["request"] if state.open else []


class RunsWhatNobodyAsked(Sound):
    def tick(self, state):
        return state, ["run x"] if state.phase == "running" else []


class RunsTwice(Sound):
    def tick(self, state):
        return state, ["run b"] if "b" in state.open else []


class RunsWhatWasDenied(Sound):
    def tick(self, state):
        return state, ["run a"] if state.permitted == "no" and state.phase == "running" else []


class LosesAResult(Sound):
    def settled(self, state, call):
        after, commands = super().settled(state, call)
        return (attrs.evolve(after, shown=state.shown), commands) if call == "b" else (after, commands)


class ShowsTwo(Sound):
    def settled(self, state, call):
        after, commands = super().settled(state, call)
        return attrs.evolve(after, shown=(*after.shown, call)), commands


class GetsStuck(Sound):
    """A denial is forgotten: the batch never closes, and what is left of it comes to nothing."""

    def deny(self, state, call):
        return attrs.evolve(state, phase="stuck"), []


class GoesRound(Sound):
    """What cannot be left goes on for ever."""

    def tick(self, state):
        turns = {"running": "left", "left": "right", "right": "left"}
        return attrs.evolve(state, phase=turns.get(state.phase, state.phase)), []


class Raises(Sound):
    def result(self, state, call):
        raise KeyError(call)


BROKEN = {
    "duplicate-result": TakesTwice,
    "orphan-result": TakesOrphans,
    "request-after-end": AsksAfterTheEnd,
    "deed-after-end": RunsAfterTheEnd,
    "end-stays": GoesOn,
    "open-call": AsksWithAnOpenCall,
    "deed-unasked": RunsWhatNobodyAsked,
    "deed-twice": RunsTwice,
    "deed-after-denial": RunsWhatWasDenied,
    "result-lost": LosesAResult,
    "two-results": ShowsTwo,
    "dead-end": GetsStuck,
    "no-way-out": GoesRound,
    "reduce-returns": Raises,
}
"""For each law a loop that breaks it."""
