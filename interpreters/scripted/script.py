"""What a script can say: the replies of a model and the acts of a tool, as Python values or as data.

As data each is a JSON object whose ``do`` names the class in lower case, with its fields beside it::

    {"do": "say", "text": "I will look.", "calls": [{"tool": "read", "arguments": {"path": "a.txt"}}]}
    {"do": "break", "message": "overloaded", "kind": "retryable"}
    {"do": "succeed", "result": "3 lines"}

``read_script`` checks such data and says what is wrong with it, and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from agentcore.events import ModelFailure
from agentcore.messages import (
    Artifact,
    AssistantPart,
    EffectSeen,
    FinishReason,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
    canonical_json,
)


class ScriptError(ValueError):
    """A script that is data cannot be read; the text says which entry, what was found and what was expected."""


@attrs.frozen
class Ask:
    """A call that the model makes."""

    tool: str
    """Its name."""
    arguments: Any = attrs.field(factory=dict)
    """A JSON object, or raw text to be sent as it is."""
    id: str = ""
    """The provider's id; empty for one made from the call's place."""

    @property
    def raw(self) -> str:
        """The argument text as the model writes it."""
        return self.arguments if isinstance(self.arguments, str) else canonical_json(self.arguments)


@attrs.frozen
class Say:
    """A complete answer."""

    text: str = ""
    """What is said."""
    reasoning: str = ""
    """What is thought before it."""
    calls: tuple[Ask, ...] = ()
    """What is called after it."""
    finish: FinishReason | None = None
    """The label; ``None`` for the one that fits."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""

    @property
    def label(self) -> FinishReason:
        """The label it comes with."""
        return self.finish or (FinishReason.TOOL_CALLS if self.calls else FinishReason.STOP)

    def parts(self, seed: str) -> tuple[AssistantPart, ...]:
        """Return it as the parts of a message; ``seed`` makes the ids of its calls."""
        thought = (ReasoningPart(self.reasoning),) if self.reasoning else ()
        said = (TextPart(self.text),) if self.text else ()
        asked = (
            ToolCallPart(ask.id or f"call-{seed}-{place}", ask.tool, ask.raw) for place, ask in enumerate(self.calls)
        )
        return (*thought, *said, *asked)


@attrs.frozen
class Break:
    """A request that fails."""

    message: str = "the script says so"
    """Cause in words."""
    kind: ModelFailure = ModelFailure.RETRYABLE
    """What may be done about it."""
    code: str = ""
    """Class of the failure."""
    status: int | None = None
    """HTTP status it pretends to."""
    retry_after_ms: int | None = None
    """How long the server asks to wait, in milliseconds."""
    text: str = ""
    """What was shown before it broke; with it the first byte had come."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


@attrs.frozen
class Stall:
    """A request that never ends by itself."""

    text: str = ""
    """What is shown before it hangs."""
    opens: bool = True
    """Whether a first byte comes."""
    confirms: bool = True
    """Whether it confirms its end when it is told to stop; otherwise only cancellation ends it."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed until it was stopped."""


ModelReply = Say | Break | Stall
"""What a scripted model does with a request."""


@attrs.frozen(kw_only=True)
class Succeed:
    """The deed is done and the tool says so. With a handle and usage it stands in for a sub-agent."""

    result: str = "ok"
    """What the model is told."""
    summary: str = ""
    """One line for people."""
    resource_version: str = ""
    """Version of what was changed."""
    artifacts: tuple[Artifact, ...] = ()
    """What was made."""
    terminate: bool = False
    """It suggests to end the turn."""
    usage: Usage = attrs.field(factory=Usage)
    """What a child consumed."""
    handle: str = ""
    """What an inspection can ask about: a process, a child session."""
    progress: tuple[str, ...] = ()
    """What it shows on the way."""
    observations: tuple[str, ...] = ()
    """Changes of the remote state that it tells on the way."""
    after: tuple[str, ...] = ()
    """Tools that have to have ended before it ends."""
    delay_s: float = 0.0
    """Real time it takes, in seconds; 0 for none."""


@attrs.frozen(kw_only=True)
class Fail:
    """The attempt ends in an error; nothing was done."""

    error: str = "the script says so"
    """Type, message, exit status."""
    kind: str = ""
    """Machine-readable class."""
    fatal: bool = False
    """No other arguments can mend it."""
    after: tuple[str, ...] = ()
    """Tools that have to have ended before it ends."""


@attrs.frozen(kw_only=True)
class Lose:
    """The attempt goes out of sight."""

    cause: str = "the connection was lost"
    """What was seen."""
    did: bool = True
    """Whether the deed was done, which only an inspection can find out."""
    target: str = ""
    """What was being acted on."""
    observation: str = ""
    """The last known remote state."""
    handle: str = ""
    """What an inspection can ask about."""


@attrs.frozen(kw_only=True)
class Hang:
    """The attempt runs until it is told to stop."""

    effect: EffectSeen = EffectSeen.NONE
    """What it says about its effect when it has stopped."""
    did: bool = False
    """Whether the deed was done when it began to hang."""
    confirms: bool = True
    """Whether it confirms its end when it is told to stop; otherwise only its process's end ends it."""
    handle: str = ""
    """What an inspection can ask about."""


Task = Succeed | Fail | Lose | Hang
"""How a task that was started goes on."""


@attrs.frozen(kw_only=True)
class Detach:
    """The call is answered at once and a task goes on in the background."""

    handle: str = "task"
    """What an inspection can ask about."""
    result: str = "started"
    """What the model is told meanwhile."""
    then: Task = attrs.field(factory=Succeed)
    """How the task goes on."""


Act = Task | Detach
"""What a scripted tool does with an execution."""

_TASKS: Mapping[str, type[Any]] = {kind.__name__.lower(): kind for kind in Task.__args__}
_KINDS: Mapping[str, type[Any]] = {
    **{kind.__name__.lower(): kind for kind in (*ModelReply.__args__, Detach)},
    **_TASKS,
}


def read_script(data: Any) -> tuple[Any, ...]:
    """Turn a list of JSON objects into replies or acts; ``ScriptError`` says what is wrong."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise ScriptError(f"a script is a list of objects, found {type(data).__name__}")
    return tuple(_read(entry, f"entry {place}", _KINDS) for place, entry in enumerate(data))


def _read(entry: Any, place: str, kinds: Mapping[str, type[Any]]) -> Any:
    if not isinstance(entry, Mapping):
        raise ScriptError(f"{place}: expected an object, found {type(entry).__name__}")
    kind = kinds.get(str(entry.get("do")))
    if kind is None:
        raise ScriptError(f"{place}: 'do' is {entry.get('do')!r}, expected one of {', '.join(kinds)}")
    given = {key: value for key, value in entry.items() if key != "do"}
    known = {field.name: field.type for field in attrs.fields(attrs.resolve_types(kind))}
    if unknown := sorted(set(given) - set(known)):
        told = f"{kind.__name__.lower()} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        raise ScriptError(f"{place}: {told}")
    return kind(**{name: _value(value, known[name], f"{place}, {name}") for name, value in given.items()})


def _value(value: Any, kind: Any, place: str) -> Any:
    if kind == Task:
        return _read(value, place, _TASKS)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{place}: {error}") from error
