"""An agent loop as it is written in an afternoon: whatever result comes is taken, and the model is asked again.

Mended, a result is taken once, and only for a call that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from agentcore.testing.protocol import (
    CallAsked,
    DeedDone,
    Fact,
    LoopProtocol,
    RequestMade,
    ResultGiven,
    TurnBegun,
    protocol_of,
)

STEPS_MAX = 2
"""Model replies with calls; without a bound the exploration would have no end."""


@attrs.frozen
class Loop:
    """The state: what the loop knows."""

    phase: str = "idle"
    """``idle``, ``asking``, ``running`` or ``done``."""
    waiting: frozenset[str] = frozenset()
    """Calls without a result."""
    history: tuple[str, ...] = ()
    """What the model is shown."""

    @property
    def steps(self) -> int:
        """How many replies asked for calls."""
        return sum(entry.startswith("calls ") for entry in self.history)


Reduced = tuple[Loop, tuple[str, ...]]
"""The next state, and the commands: ``ask`` the model, ``run CALL``."""


class NaiveLoop:
    """The loop and the world around it; events are ``prompt``, ``answer``, ``calls A B`` and ``result CALL``."""

    name = "naive-loop"
    initial = Loop()

    @staticmethod
    def enabled(state: Loop) -> Iterator[str]:
        """Everything may come at any time; a model answers when it is asked, and results come late and twice."""
        if state.phase == "idle":
            yield "prompt"
        if state.phase == "asking":
            yield "answer"
            if state.steps < STEPS_MAX:
                yield f"calls a{state.steps} b{state.steps}"
        for step in range(STEPS_MAX):
            yield f"result a{step}"
            yield f"result b{step}"

    def reduce(self, state: Loop, event: str) -> Reduced:
        """Take an event."""
        word, *calls = event.split()
        if word == "prompt":
            return Loop("asking", history=("prompt",)), ("ask",)
        if word == "answer":
            return attrs.evolve(state, phase="done", history=(*state.history, "answer")), ()
        if word == "calls":
            running = Loop("running", frozenset(calls), (*state.history, event))
            return running, tuple(f"run {call}" for call in calls)
        return self.take_result(state, calls[0])

    def take_result(self, state: Loop, call: str) -> Reduced:
        """Take a result: whatever comes is written down, and once nothing is waited for the model is asked."""
        waiting = state.waiting - {call}
        phase = "running" if waiting else "asking"
        return Loop(phase, waiting, (*state.history, f"result {call}")), () if waiting else ("ask",)

    @staticmethod
    def told(event: str) -> list[Fact]:
        """What an event reports."""
        word, *calls = event.split()
        match word:
            case "prompt":
                return [TurnBegun()]
            case "calls":
                return [CallAsked(call) for call in calls]
            case "result":
                return [ResultGiven(calls[0])]
        return []

    @staticmethod
    def ordered(command: str) -> list[Fact]:
        """What a command sets going."""
        return [RequestMade()] if command == "ask" else [DeedDone(command.removeprefix("run "))]

    @staticmethod
    def ended(state: Loop) -> bool:
        """Whether the loop is over."""
        return state.phase == "done"

    @staticmethod
    def answered(state: Loop) -> list[str]:
        """The call of each result that the model is shown."""
        return [entry.removeprefix("result ") for entry in state.history if entry.startswith("result ")]


class MendedLoop(NaiveLoop):
    """The same loop, which takes only what it waits for."""

    name = "mended-loop"

    def take_result(self, state: Loop, call: str) -> Reduced:
        """Take a result that is waited for, and leave every other one."""
        return super().take_result(state, call) if call in state.waiting else (state, ())


def protocol(*, mended: bool = False) -> LoopProtocol:
    """Return the loop as a protocol that is held to the laws of agent loops."""
    return attrs.evolve(protocol_of(MendedLoop() if mended else NaiveLoop()), show=_show)


def _show(state: Loop) -> str:
    waiting = f", waiting for {', '.join(sorted(state.waiting))}" if state.waiting else ""
    return f"{state.phase}{waiting}: {'; '.join(state.history) or 'nothing'}"
