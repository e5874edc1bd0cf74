"""Model requests: what is sent, what is shown meanwhile, and the check of what a host's transform made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from agentcore.commands import RequestModel
from agentcore.events import Event, ModelFailed, ModelFailure
from agentcore.messages import Message
from agentcore.projections import RequestView, request_messages
from agentcore.states import State
from interpreters.engine.context import Sent, check_transformed
from interpreters.engine.desk import Desk
from interpreters.engine.hooks import Hooks
from interpreters.engine.mailbox import enclose
from interpreters.engine.seam import Fault, guarded
from interpreters.engine.works import Work
from interpreters.support import views
from interpreters.support.ports import STAMPED
from interpreters.support.ports_model import Model, ModelDelta, ModelRun, ReasoningDelta, TextDelta


class Requests:
    """Performs ``RequestModel``."""

    def __init__(self, model: Model, hooks: Hooks, desk: Desk, shown: Callable[[RequestModel], None]) -> None:
        """``shown`` is told of a request of which text is shown, so that it can be withdrawn."""
        self._model = model
        self._hooks = hooks
        self._desk = desk
        self._shown = shown
        self._sent = Sent()

    async def answer(self, work: Work, order: RequestModel, state: State) -> Event:
        """Send the request once and return how it ended."""
        shaped = await guarded(lambda: self._shape(order, state))
        if isinstance(shaped, Fault):
            return _unusable(order, shaped.cause)
        run = ModelRun(
            order=order,
            view=shaped,
            now=self._desk.clock.now,
            emit=lambda event: self._desk.mailbox.put(enclose(event)),
            show=lambda delta: self._show(work, order, delta),
            trace=self._desk.trace.hook,
            convert=self._hooks.convert_to_wire,
            refresh=self._hooks.refresh_credentials,
            stop=work.stop,
        )
        return await self._model.answer(run)

    async def _shape(self, order: RequestModel, state: State) -> RequestView:
        """Let the host transform the messages, and check what it did; raises ``ContextRefused``."""
        view = request_messages(state, order.request_id)
        hook = self._hooks.transform_context
        if hook is None:
            return view

        def told(made: Iterable[Message]) -> str:
            return "nothing" if tuple(made) == view.messages else "the messages"

        made = await self._desk.hooks.call("transform-context", order.request_id, lambda: hook(view.messages), told)
        messages = tuple(made)
        self._sent = check_transformed(view.messages, messages, state.window, self._sent)
        return attrs.evolve(view, messages=messages)

    def _show(self, work: Work, order: RequestModel, delta: ModelDelta) -> None:
        """Show a piece, unless nobody waits for the request any more."""
        if work.scope.cancel_called:
            return
        self._shown(order)
        shown: views.TextDelta | views.ReasoningDelta
        match delta:
            case TextDelta(text=text):
                shown = views.TextDelta(order.request_id, order.attempt, text)
            case ReasoningDelta(text=text):
                shown = views.ReasoningDelta(order.request_id, order.attempt, text)
        self._desk.broadcast.show(shown)


def _unusable(order: RequestModel, cause: str) -> ModelFailed:
    return ModelFailed(
        at=STAMPED,
        request_id=order.request_id,
        epoch=order.epoch,
        attempt=order.attempt,
        kind=ModelFailure.FATAL,
        message=f"the host's transform-context hook cannot be used: {cause}",
        code="transform-refused",
    )
