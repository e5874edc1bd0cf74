"""Whatever bytes a server sends: a message or a failure that names its rule, never an exception, never a hang."""

from __future__ import annotations

import ast
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreters.models import DIALECTS
from tests.meta.tree import name_of, parse, sources
from tests.models import attacks, fuzz_atheris

SIZES = st.lists(st.integers(1, 50), max_size=4)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.binary(max_size=300), sizes=SIZES, at=st.integers(0, 59))
@pytest.mark.req("R-082")
def test_no_bytes_make_a_decoder_raise(dialect, data, sizes, at):
    status = attacks.STATUSES[at % len(attacks.STATUSES)]
    attacks.attack(dialect, data, sizes, status, attacks.HEADERS[at % len(attacks.HEADERS)])


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=200)
@given(choose=st.data(), sizes=SIZES)
@pytest.mark.req("R-082")
def test_no_damage_to_a_real_answer_makes_a_decoder_raise(dialect, choose, sizes):
    attacks.attack(dialect, choose.draw(attacks.mutated(dialect)), sizes)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=200)
@given(choose=st.data(), sizes=SIZES)
@pytest.mark.req("R-082")
def test_no_other_values_in_a_real_answer_make_a_decoder_raise(dialect, choose, sizes):
    attacks.attack(dialect, choose.draw(attacks.retold(dialect)), sizes)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(choose=st.data(), cut=st.integers(0, 400), flip=st.integers(0, 400))
def test_no_damage_to_a_compressed_answer_makes_a_decoder_raise(dialect, choose, cut, flip):
    data = bytearray(gzip.compress(choose.draw(st.sampled_from(attacks.CORPUS[dialect]))))
    data[flip % len(data)] ^= 0x55
    attacks.attack(dialect, bytes(data[: len(data) - cut]), [17], headers={"content-encoding": "gzip"})


RAISED = {
    "loads": {"ValueError", "RecursionError", "JSONDecodeError"},
    "read_json": {"ValueError", "RecursionError"},
    "read_with_doubles": {"ValueError", "RecursionError", "JSONDecodeError"},
    "canonical_json": {"ValueError", "RecursionError"},
    "dumps": {"RecursionError"},
    "b64decode": {"ValueError"},
    "decompress": {"error"},
    "parsedate_to_datetime": {"ValueError"},
    "timestamp": {"OverflowError"},
    "fold_event": {"WireFault", "RecursionError"},
    "work": {"WireFault", "EventTooLarge", "RecursionError"},
    "parse_json": {"ValueError", "RecursionError"},
    "ip_address": {"ValueError"},
}
"""What each parser, and each layer of ours, raises for an input that is wrong. ``work`` is a layer as a value."""

DECODERS = (
    *("assembly", "calls", "chat_decode", "decoder", "failures", "inflate", "reading", "sse", "usage", "verbatim"),
    *("anthropic_blocks", "anthropic_decode", "responses_decode", "responses_items", "responses_parts"),
)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "?"


def _caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"everything"}
    return {_name(kind) for kind in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])}


def _too_broad(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            calls = [inner for each in node.body for inner in ast.walk(each) if isinstance(inner, ast.Call)]
            allowed = set().union(*(RAISED.get(_name(call.func), set()) for call in calls))
            for handler in node.handlers:
                found += [f"{handler.lineno}: {name}" for name in sorted(_caught(handler) - allowed)]
    return found


def test_no_decoder_catches_more_than_what_the_parser_it_calls_raises():
    paths = sources(*(f"interpreters/models/{name}.py" for name in DECODERS))
    assert len(paths) == len(DECODERS)
    assert [f"{name_of(path)}:{each}" for path in paths for each in _too_broad(parse(path))] == []


@pytest.mark.parametrize(
    "handler", ["except Exception:", "except:", "except BaseException:", "except (ValueError, KeyError):"]
)
def test_a_broader_handler_is_found_out(handler):
    assert _too_broad(ast.parse(f"try:\n    json.loads(x)\n{handler}\n    pass"))
    assert not _too_broad(ast.parse("try:\n    json.loads(x)\nexcept (ValueError, RecursionError):\n    pass"))


def test_every_decoder_is_looked_at():
    """Whatever defines a folder, or is imported by one, and catches something."""
    named = {name_of(path).rpartition("/")[2].removesuffix(".py") for path in sources("interpreters/models")}
    assert {name for name in named if name.endswith(("_decode", "_blocks", "_items", "_parts"))} <= set(DECODERS)


def test_the_inputs_of_the_guided_fuzzer_begin_with_every_recorded_answer(tmp_path):
    fuzz_atheris.seeds(tmp_path)
    found = [fuzz_atheris.unpack(path.read_bytes()) for path in tmp_path.iterdir()]
    assert len(found) == sum(map(len, attacks.CORPUS.values()))
    for dialect, body, sizes, status, headers in found:
        assert body in attacks.CORPUS[dialect]
        attacks.attack(dialect, body, sizes, status, headers)
    attacks.attack(*fuzz_atheris.unpack(b""))
