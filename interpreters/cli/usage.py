"""What a session consumed and what that cost: read from its journal, offline, while it may be open elsewhere."""

from __future__ import annotations

from agentcore.projections import replay
from agentcore.states import State
from interpreters.cli.output import Output
from interpreters.cli.reading import begun
from interpreters.frontends import Spent, attempts_text, cost_of, spending, usage_text, usage_values
from interpreters.models.prices import HOW_TO_GET, has_list
from interpreters.support.ports_store import Loaded, Store


async def spent_in(store: Store, session_id: str) -> tuple[Spent, ...]:
    """Return what each attempt of a session consumed. Raises what reading a session raises."""
    return spent_of(await store.read(session_id, from_start=True))


def spent_of(loaded: Loaded) -> tuple[Spent, ...]:
    """Return what each attempt consumed, by a journal. Raises ``JournalUnreadable``."""
    state, events = begun(loaded)
    return tuple(spending(replay(state, (event for _, event in events))))


def show_usage(state: State, loaded: Loaded, output: Output) -> None:
    """Write what each attempt consumed, and the sums."""
    spent = spent_of(loaded)
    if output.as_json:
        output.value({"session_id": state.session_id, "seq": state.seq} | usage_values(state, spent))
        return
    pieces = [attempts_text(spent)] if spent else []
    output.page("\n\n".join([*pieces, told_usage(state, spent)]))


def told_usage(state: State, spent: tuple[Spent, ...]) -> str:
    """Return the sums in words, and what to install if that is why a cost is not known."""
    text = usage_text(state, spent)
    if cost_of(spent).unpriced and not has_list():
        return f"{text}\nprices come with: {HOW_TO_GET}, or give --prices IN,OUT"
    return text
