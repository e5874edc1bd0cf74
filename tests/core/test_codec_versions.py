"""Tags and versions: the table is whole, older forms are lifted, newer ones refused, no form changes unnoticed."""

from __future__ import annotations

import enum
import json
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import pytest

from agentcore import codec
from agentcore.codec import DecodeError, NewerVersion, Tag, make_codec
from agentcore.commands import COMMANDS, tag_of
from agentcore.commands import TAGS as COMMAND_TAGS
from agentcore.events import EVENTS, PromptSubmitted
from agentcore.messages import AssistantPart, History, Message, Outcome, TextPart, UserPart
from agentcore.policy import Config
from agentcore.rejections import Rejection
from agentcore.states import CALL_STATES, PHASES, State

PROMPT = PromptSubmitted(at=5, message_id="m1", parts=(TextPart("hi"),))
NEXT = {**codec.TAGS, PromptSubmitted: Tag("prompt-submitted", 3)}


def as_version(version: Any, **fields: Any) -> bytes:
    return json.dumps({**json.loads(codec.encode_event(PROMPT)), "v": version, **fields}).encode()


def rename_text(value):
    """Version 1 of the fake past had `words`, one text instead of parts."""
    rest = {name: inner for name, inner in value.items() if name != "words"}
    return {**rest, "parts": [{"type": "text-part", "v": 1, "text": value["words"], "metadata": ""}]}


def add_queue(value):
    return {**value, "queued": []}


LIFTS = {("prompt-submitted", 1): rename_text, ("prompt-submitted", 2): add_queue}
FIRST = {"type": "prompt-submitted", "v": 1, "at": 5, "message_id": "m1", "words": "hi"}
SECOND = {
    "type": "prompt-submitted",
    "v": 2,
    "at": 5,
    "message_id": "m1",
    "parts": [{"type": "text-part", "v": 1, "text": "hi", "metadata": ""}],
}


def test_every_member_of_a_union_has_a_tag_of_its_own():
    unions = (Message, UserPart, AssistantPart, Outcome)
    members = {*EVENTS, *COMMANDS, *PHASES, *CALL_STATES, *(member for union in unions for member in get_args(union))}
    names = [tag.name for tag in codec.TAGS.values()]
    assert members <= codec.TAGS.keys()
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert all(tag.version >= 1 for tag in codec.TAGS.values())


@pytest.mark.req("D-25")
def test_commands_have_the_same_tags_on_disk_as_everywhere():
    assert {kind: codec.TAGS[kind].name for kind in COMMANDS} == COMMAND_TAGS


def test_no_tagged_class_has_a_field_named_like_the_tag():
    reserved = {"type", "v"}
    assert [kind for kind in codec.TAGS if reserved & {field.name for field in attrs.fields(kind)}] == []


@pytest.mark.req("R-190", "R-198")
@pytest.mark.parametrize("older", [FIRST, SECOND])
def test_an_older_form_is_lifted_version_by_version(older):
    assert make_codec(NEXT, LIFTS).decode_event(json.dumps(older).encode()) == PROMPT


@pytest.mark.req("R-198")
def test_an_upcaster_sees_the_old_form_and_changes_nothing_of_it():
    seen = []
    lifts = {**LIFTS, ("prompt-submitted", 1): lambda value: seen.append(dict(value)) or rename_text(value)}
    make_codec(NEXT, lifts).decode_event(json.dumps(FIRST).encode())
    assert seen == [FIRST]


def test_what_is_written_carries_the_present_version():
    written = json.loads(make_codec(NEXT, LIFTS).encode_event(PROMPT))
    assert (written["type"], written["v"]) == ("prompt-submitted", 3)


def test_a_form_that_does_not_fit_its_upcaster_is_a_decode_error():
    with pytest.raises(DecodeError) as caught:
        make_codec(NEXT, LIFTS).decode_event(json.dumps({**FIRST, "words": None}).encode())
    assert caught.value.path == "$.parts[0].text"
    with pytest.raises(DecodeError) as caught:
        make_codec(NEXT, LIFTS).decode_event(json.dumps({name: FIRST[name] for name in ("type", "v")}).encode())
    assert "version 1 of prompt-submitted does not fit its upcaster: KeyError('words')" in caught.value.problem
    assert (caught.value.tag, caught.value.version) == ("prompt-submitted", 1)


def test_a_missing_upcaster_is_a_decode_error_that_names_the_gap():
    with pytest.raises(DecodeError) as caught:
        make_codec(NEXT, {("prompt-submitted", 1): rename_text}).decode_event(json.dumps(FIRST).encode())
    assert (caught.value.path, caught.value.problem) == (
        "$.v",
        "there is no way from version 2 of prompt-submitted to 3",
    )


def test_a_newer_version_is_an_error_of_its_own_kind():
    with pytest.raises(NewerVersion) as caught:
        codec.decode_event(as_version(2))
    error = caught.value
    assert (error.path, error.tag, error.version, error.known) == ("$", "prompt-submitted", 2, 1)
    assert "version 2 is newer than 1, the newest known here" in str(error)


def test_a_newer_part_inside_an_event_says_where_it_is():
    part = {"type": "text-part", "v": 9, "text": "hi", "glow": True}
    with pytest.raises(NewerVersion) as caught:
        codec.decode_event(as_version(1, parts=[part]))
    assert (caught.value.path, caught.value.tag, caught.value.version) == ("$.parts[0]", "text-part", 9)


@pytest.mark.req("R-189")
def test_a_newer_journal_schema_is_refused_by_its_header():
    header = codec.Header("s", Config(), 1)
    assert json.loads(codec.encode_header(header))["schema"] == codec.SCHEMA == 0
    with pytest.raises(NewerVersion) as caught:
        codec.decode_header(codec.encode_header(attrs.evolve(header, schema=1)))
    assert (caught.value.path, caught.value.version, caught.value.known) == ("$.schema", 1, 0)


def test_two_classes_with_one_tag_are_refused_when_the_codec_is_made():
    with pytest.raises(ValueError, match="two classes have the tag text-part"):
        make_codec({**codec.TAGS, PromptSubmitted: Tag("text-part", 1)})


def test_a_union_member_without_a_tag_is_refused_when_the_codec_is_made():
    with pytest.raises(TypeError, match=r"PromptSubmitted.* needs a tag"):
        make_codec({kind: tag for kind, tag in codec.TAGS.items() if kind is not PromptSubmitted})


def test_a_type_without_a_strict_rule_is_refused_when_the_codec_is_made(monkeypatch):
    monkeypatch.setitem(Rejection.__annotations__, "legal", "list[str]")
    with pytest.raises(TypeError, match=r"list\[str\] has no strict rule"):
        make_codec()


def test_every_upcaster_leads_on_to_the_present_version():
    versions = {tag.name: tag.version for tag in codec.TAGS.values()}
    assert all(1 <= version < versions[tag] for tag, version in codec.UPCASTERS)


def form(kind: Any) -> str:
    """How a type is written: tagged classes by name and version, plain ones and enums by their name alone."""
    if kind in codec.TAGS:
        return "{}/{}".format(*codec.TAGS[kind])
    if kind is History:
        return f"[{form(Message)}]"
    if attrs.has(kind) or isinstance(kind, enum.EnumType):
        return kind.__name__
    args = get_args(kind)
    if get_origin(kind) is Literal:
        return " | ".join(sorted(args))
    if get_origin(kind) in (tuple, frozenset):
        return "[{}]".format(", ".join(form(each) for each in args if each is not ...))
    if args:
        return " | ".join(form(each) for each in args)
    return {str: "text", int: "number", bool: "flag", type(None): "null"}[kind]


def content(kind: Any) -> list[str]:
    """The fields of a class with their forms, or the words of an enum."""
    if isinstance(kind, enum.EnumType):
        return sorted(member.value for member in kind)
    hints = get_type_hints(kind)
    return [f"{each.name}: {form(hints[each.name])}" for each in attrs.fields(kind)]


def plain_kinds() -> list[type[Any]]:
    """Classes and enums without a tag that stand, however deep, inside tagged ones."""
    found: set[type[Any]] = set()
    waiting: list[Any] = [*codec.TAGS]
    while waiting:
        kind = waiting.pop()
        waiting += [inner for inner in get_args(kind) if not isinstance(inner, str)]
        if isinstance(kind, enum.EnumType) or attrs.has(kind):
            new = kind not in found
            found.add(kind)
            waiting += get_type_hints(kind).values() if new and attrs.has(kind) else ()
    return sorted(found - {*codec.TAGS, History}, key=lambda kind: kind.__name__)


@pytest.mark.req("R-198")
def test_no_form_changes_unnoticed(golden):
    """A changed line needs a new version and an upcaster, once there is a release whose journals must stay readable.

    Where a plain class or an enum changed, that is so for each tagged class that speaks of it, directly or through
    others.
    """
    tagged = [(f"{tag.name}/{tag.version}", kind) for kind, tag in codec.TAGS.items()]
    plain = [(kind.__name__, kind) for kind in plain_kinds()]
    lines = [f"{name}\n" + "".join(f"  {line}\n" for line in content(kind)) for name, kind in (*tagged, *plain)]
    golden("tests/core/codec_forms.txt", "".join(lines))


def test_the_name_of_a_class_and_its_tag_agree_until_one_is_renamed():
    renamed: set[type[Any]] = set()
    assert {
        kind: tag.name for kind, tag in codec.TAGS.items() if kind not in renamed and tag.name != tag_of(kind)
    } == {}
    assert State in codec.TAGS
