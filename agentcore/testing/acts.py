"""What happens without having been asked for: acts of users and hosts, paused workers, crashes.

``ACTS`` has one line for each option that is an act. An act is offered only where it could be accepted; that it is
refused everywhere else is what the matrix and the probes show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from agentcore import events
from agentcore.events import AbortScope, Event, Resolution, SessionResumed
from agentcore.messages import (
    AssistantMessage,
    FinishReason,
    MessageSource,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
)
from agentcore.states import ENDS, WORKING, EffectUnknown, Idle, Settled, State
from agentcore.testing.moves import Move, Scene, Source
from agentcore.testing.passage import all_calls
from agentcore.testing.world import DEAD_MS, Deed, matters, orphans


def prompt(scene: Scene) -> Iterator[Event]:
    """A prompt, where the session is idle."""
    if isinstance(scene.state.phase, Idle):
        number = scene.used("prompt")
        yield events.PromptSubmitted(at=scene.world.now, message_id=f"prompt-{number}", parts=(TextPart("Go on."),))


def queued_prompt(scene: Scene) -> Iterator[Event]:
    """A prompt that names everything that waits."""
    queues = scene.state.queues
    waiting = tuple(queued.message_id for queued in (*queues.steering, *queues.follow_ups))
    if isinstance(scene.state.phase, Idle) and waiting:
        yield events.PromptSubmitted(at=scene.world.now, message_id="prompt-queued", queued=waiting)


def steering(scene: Scene) -> Iterator[Event]:
    """Words for the running turn; they may come too late for it."""
    number = scene.used("steering")
    yield events.SteeringQueued(at=scene.world.now, message_id=f"steering-{number}", parts=(TextPart("Left."),))


def follow_up(scene: Scene) -> Iterator[Event]:
    """Words for the next turn."""
    number = scene.used("follow-up")
    yield events.FollowUpQueued(at=scene.world.now, message_id=f"follow-up-{number}", parts=(TextPart("Then?"),))


def withdrawal(scene: Scene) -> Iterator[Event]:
    """A message that waits is taken back."""
    queues = scene.state.queues
    for queued in (*queues.steering, *queues.follow_ups):
        yield events.MessageWithdrawn(at=scene.world.now, message_id=queued.message_id)


def _abort(scene: Scene, option: str, scope: AbortScope, *, call_id: str = "") -> Event:
    turn = scene.state.turn.number if scope in (AbortScope.TURN, AbortScope.AFTER_STEP) else 0
    act_id = f"{option}-{scene.used(option)}"
    return events.AbortRequested(at=scene.world.now, act_id=act_id, scope=scope, turn=turn, call_id=call_id)


def abort(scene: Scene) -> Iterator[Event]:
    """The turn is aborted while it is open."""
    if scene.state.open:
        yield _abort(scene, "abort", AbortScope.TURN)


def abort_call(scene: Scene) -> Iterator[Event]:
    """One call is aborted."""
    for call in all_calls(scene.state):
        if not call.registered and not isinstance(call.state, Settled):
            yield _abort(scene, "abort-call", AbortScope.CALL, call_id=call.call_id)


def abort_task(scene: Scene) -> Iterator[Event]:
    """One entry of the register is aborted."""
    for call in scene.state.register:
        yield _abort(scene, "abort-task", AbortScope.TASK, call_id=call.call_id)


def abort_all(scene: Scene) -> Iterator[Event]:
    """Everything is aborted."""
    yield _abort(scene, "abort-all", AbortScope.ALL)


def abort_after_step(scene: Scene) -> Iterator[Event]:
    """The turn is to end at the next boundary."""
    if isinstance(scene.state.phase, WORKING):
        yield _abort(scene, "abort-after-step", AbortScope.AFTER_STEP)


def person(scene: Scene) -> Iterator[Event]:
    """A person says what became of an effect that is open."""
    for call in all_calls(scene.state):
        if isinstance(call.state, EffectUnknown) or call.registered:
            for resolution in Resolution:
                yield events.EffectResolved(
                    at=scene.world.now, call_id=call.call_id, resolution=resolution, result="seen"
                )
            yield events.EffectResolved(
                at=scene.world.now, call_id=call.call_id, resolution=Resolution.NOT_EXECUTED, retry=True
            )


def inspection(scene: Scene) -> Iterator[Event]:
    """Somebody wants an open effect looked at."""
    for call in all_calls(scene.state):
        if isinstance(call.state, EffectUnknown) or call.registered:
            yield events.InspectionRequested(at=scene.world.now, call_id=call.call_id)


def retry(scene: Scene) -> Iterator[Event]:
    """Somebody wants a call of unknown effect run again."""
    for call in all_calls(scene.state):
        if isinstance(call.state, EffectUnknown):
            yield events.RetryRequested(at=scene.world.now, call_id=call.call_id)


def reopen(scene: Scene) -> Iterator[Event]:
    """The session is reopened after an end."""
    if isinstance(scene.state.phase, ENDS):
        yield events.SessionReopened(at=scene.world.now)


def imported(scene: Scene) -> Iterator[Event]:
    """A history is brought from elsewhere, with a call that has no result and a result that has no call."""
    if not isinstance(scene.state.phase, Idle):
        return
    orphan = ToolCallPart("x1", "writes", "{}")
    yield events.HistoryImported(
        at=scene.world.now,
        messages=(
            UserMessage("old", MessageSource.PROMPT, (TextPart("Hello."),)),
            AssistantMessage("", 0, 0, (orphan,), FinishReason.TOOL_CALLS),
            ToolMessage("", ()),
            UserMessage("older", MessageSource.PROMPT, (TextPart("And?"),)),
        ),
    )


def clear(scene: Scene) -> Iterator[Event]:
    """The history is cleared."""
    if isinstance(scene.state.phase, Idle):
        yield events.HistoryCleared(at=scene.world.now)


def config(scene: Scene) -> Iterator[Event]:
    """The configuration is changed."""
    if isinstance(scene.state.phase, Idle):
        changed = attrs.evolve(scene.state.config, instructions=f"new {scene.used('config')}")
        yield events.ConfigChanged(at=scene.world.now, config=changed)


ACTS: Mapping[str, Callable[[Scene], Iterator[Event]]] = {
    "prompt": prompt,
    "queued-prompt": queued_prompt,
    "steering": steering,
    "follow-up": follow_up,
    "withdrawal": withdrawal,
    "abort": abort,
    "abort-call": abort_call,
    "abort-task": abort_task,
    "abort-all": abort_all,
    "abort-after-step": abort_after_step,
    "person": person,
    "inspection": inspection,
    "retry": retry,
    "reopen": reopen,
    "import": imported,
    "clear": clear,
    "config": config,
}
"""Options that are acts of a user or host."""


def acts(scene: Scene) -> Iterator[Move]:
    """Yield every act that may still happen; before the first turn there is nothing but its prompt."""
    if scene.state.turn.number == 0 and scene.state.seq == 0:
        begin = events.PromptSubmitted(at=scene.world.now, message_id="prompt", parts=(TextPart("Do it."),))
        yield Move(Source.WORLD, begin, scene.world)
    for option, act in ACTS.items():
        if scene.has(option):
            for event in act(scene):
                yield Move(Source.USER, event, scene.world, option)


def workers(scene: Scene) -> Iterator[Move]:
    """Yield what attempts do that nobody waits for: act late, and report late what they did."""
    world, state = scene.world, scene.state
    for attempt in orphans(world, scene.outstanding):
        if not matters(world, state, attempt):
            continue
        own: dict[str, Any] = {
            "at": world.now,
            "call_id": attempt.call_id,
            "epoch": attempt.epoch,
            "attempt": attempt.attempt,
        }
        if attempt.may_act(world.now):
            yield Move(Source.WORKER, None, world.told(attempt, Deed.DONE), acts=attempt)
            failed = events.ToolFailed(**own, error="broke late")
            yield from scene.tells(failed, costs="late-failure", world=world.told(attempt, Deed.VOID))
        if attempt.deed is Deed.DONE:
            detached = any(call.call_id == attempt.call_id and call.contract.detached for call in state.register)
            if detached:
                yield from scene.tells(events.TaskSettled(**own, succeeded=True, result="done"))
            yield from scene.tells(events.ToolSucceeded(**own, result="done"))


def resumes(scene: Scene, survived: State) -> Iterator[tuple[SessionResumed, tuple[str, ...]]]:
    """Yield the ways in which a session whose process died is taken up again, with the options each one takes."""
    at = scene.world.now + DEAD_MS
    found = events.Recovery(last_seq=survived.seq)
    yield SessionResumed(at=at, config=survived.config, recovery=found), ("crash",)
    if scene.has("tool-gone"):
        bare = attrs.evolve(survived.config, tools=())
        yield SessionResumed(at=at, config=bare, recovery=found), ("crash", "tool-gone")
    if scene.has("damage"):
        suspects = (events.Suspect(call_id="1.1.0", name="writes"), events.Suspect(call_id="8.1.0", name="writes"))
        gap = attrs.evolve(found, damage=events.DamageKind.MIDDLE, gap_accepted_by="user", suspects=suspects)
        yield SessionResumed(at=at, config=survived.config, recovery=gap), ("crash", "damage")
