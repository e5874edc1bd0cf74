"""Laws about everything that was explored: nothing gets stuck, and nothing goes round for ever.

A place at which not everything was looked at may lead anywhere, so it counts as a good one. What these laws find is
therefore so, whatever else there is; that they find nothing means something only where everything was seen.
"""

from __future__ import annotations

from agentcore.testing.graphs import first_circle, leading_to
from agentcore.testing.protocol.shape import Edge, Found, LoopProtocol, ProtocolLaw, StateGraph


def dead_end(graph: StateGraph) -> Found | None:
    """A state that is not accepting can be left."""
    for place, targets in enumerate(graph.targets()):
        if not graph.accepting[place] and not graph.unseen[place] and all(target == place for target in targets):
            return Found(place, "nothing that can happen here leads on, and this is no accepting state")
    return None


def no_way_out(graph: StateGraph) -> Found | None:
    """From every state an accepting one can be reached."""
    goals = [good or unseen for good, unseen in zip(graph.accepting, graph.unseen, strict=True)]
    reached = leading_to(goals, graph.targets())
    lost = next((place for place, is_reached in enumerate(reached) if not is_reached), None)
    return None if lost is None else Found(lost, "whatever happens from here, no accepting state is reached any more")


def livelock(graph: StateGraph) -> Found | None:
    """Every circle of states that are not accepting holds a transition that is progress.

    What is ignored is no circle; what leaves the state alone and orders something is.
    """
    edges = [
        []
        if graph.accepting[place]
        else [
            edge.target
            for edge in edges
            if not edge.progress and not graph.accepting[edge.target] and _does_something(place, edge)
        ]
        for place, edges in enumerate(graph.edges)
    ]
    around = first_circle(edges)
    return Found(around[0], "from here it can go round for ever without progress", around) if around else None


def _does_something(place: int, edge: Edge) -> bool:
    return edge.target != place or bool(edge.transition.commands)


DEAD_END = ProtocolLaw("dead-end", dead_end.__doc__ or "", graph=dead_end)
"""No state but an accepting one is the last."""
NO_WAY_OUT = ProtocolLaw("no-way-out", no_way_out.__doc__ or "", graph=no_way_out)
"""An accepting state stays within reach."""
LIVELOCK = ProtocolLaw("livelock", " ".join((livelock.__doc__ or "").split()), graph=livelock)
"""Nothing goes on for ever without progress."""


def liveness_laws(protocol: LoopProtocol) -> tuple[ProtocolLaw, ...]:
    """Return the laws that a protocol can be held to, given what it declares."""
    ends = (DEAD_END, NO_WAY_OUT) if protocol.accepting is not None else ()
    return (*ends, LIVELOCK) if protocol.progress is not None else ends
