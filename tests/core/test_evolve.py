"""Changed copies are what ``attrs.evolve`` would have made of them."""

from __future__ import annotations

import attrs
import pytest

from agentcore.commands import PersistCheckpoint
from agentcore.evolve import evolve
from agentcore.limits import Limits
from agentcore.policy import Config
from agentcore.reduce import start
from agentcore.states import CALL_STATES, PHASES, Idle, State, Storage


def state() -> State:
    return start("s", Config(), 7).state


def test_a_copy_has_the_class_the_other_fields_and_the_hash_of_one_that_attrs_makes():
    before = state()
    for changes in ({}, {"seq": 3}, {"seq": 3, "at": 9, "storage": Storage(durable=2)}):
        copied = evolve(before, **changes)
        assert type(copied) is State
        assert copied == attrs.evolve(before, **changes)
        assert hash(copied) == hash(attrs.evolve(before, **changes))
    assert before == state()


def test_a_copy_shares_what_was_not_changed_and_cannot_be_written():
    before = state()
    copied = evolve(before, seq=1)
    assert copied.config is before.config
    assert copied.history is before.history
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        copied.seq = 2


def test_a_field_that_a_class_does_not_have_is_refused():
    with pytest.raises(TypeError, match="sequence"):
        evolve(state(), sequence=1)


def test_a_class_that_checks_its_values_is_built_by_its_own_init():
    assert evolve(Limits(), steps=3) == Limits(steps=3)
    with pytest.raises(ValueError, match="steps"):
        evolve(Limits(), steps=-1)


def test_a_field_may_be_called_like_anything_the_copying_uses():
    @attrs.frozen
    class Odd:
        value: int
        copy: int = 1
        new: int = 2
        kept: int = 3

    assert evolve(Odd(0), value=5, new=6) == Odd(5, 1, 6, 3)


def test_a_class_without_slots_is_copied_too():
    @attrs.frozen(slots=False)
    class Open:
        name: str

    assert evolve(Open("a"), name="b") == Open("b")


def test_every_phase_and_call_state_is_copied_slot_by_slot():
    """Each is a frozen class with only its own data: nothing that an ``__init__`` would have to add."""
    for kind in (*PHASES, *CALL_STATES, State, PersistCheckpoint):
        assert not hasattr(kind, "__attrs_post_init__")
        assert not any(field.validator or field.converter for field in attrs.fields(kind))
    assert evolve(Idle("why"), transition="other") == Idle("other")
