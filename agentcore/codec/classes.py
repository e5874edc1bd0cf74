"""Strict hooks for classes and unions, and the converter that holds all hooks together.

Nothing is coerced, because cattrs would: ``None`` to ``'None'``, ``True`` to ``1``, text to a tuple of letters. So it
only walks the types and finds a hook for each; every hook is ours, and a type without one is refused when the converter
is made.

1. A plain class is a JSON object with exactly its fields; a default never fills a gap.
2. A tagged class has ``type`` and ``v`` besides. In a union the tag tells the class; an older version is lifted to the
   present form before its fields are read; a newer one is refused.
3. What a class itself refuses when it is made, like a limit below zero, is a flaw of the bytes.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

import attrs
import cattrs

from agentcore.codec.errors import Flaw, one_of, shown
from agentcore.codec.tags import Tag, Upcaster
from agentcore.codec.values import RULES, Hook, read_text, reader_of, truth, whole_number, write_text, writer_of

TYPE = "type"
"""Key of a tagged value's tag."""
VERSION = "v"
"""Key of a tagged value's version."""


def make_converter(tags: Mapping[type[Any], Tag], upcasters: Mapping[tuple[str, int], Upcaster]) -> cattrs.Converter:
    """Return a converter that knows the vocabulary and nothing else; ``ValueError`` if two classes share a tag."""
    names = [tag.name for tag in tags.values()]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"two classes have the tag {', '.join(doubled)}: one of them would be lost on reading")
    tagged = _Tagged(tags, upcasters)
    converter = cattrs.Converter()
    # cattrs takes the last rule that applies.
    for applies, writer, reader in (
        (_is_anything, _refuse, _refuse),
        (attrs.has, _plain_writer, _plain_reader),
        (_is_union, tagged.writer, tagged.reader),
        (_is_optional, _optional_writer, _optional_reader),
        (tags.__contains__, tagged.writer, tagged.reader),
        *RULES,
    ):
        converter.register_unstructure_hook_factory(applies, writer)
        converter.register_structure_hook_factory(applies, reader)
    for kind, write, read in ((str, write_text, read_text), (int, whole_number, whole_number), (bool, truth, truth)):
        converter.register_unstructure_hook(kind, write)
        converter.register_structure_hook(kind, read)
    return converter


def _is_anything(_kind: Any) -> bool:
    return True


def _refuse(kind: Any, _converter: cattrs.Converter) -> NoReturn:
    raise TypeError(f"{kind!r} has no strict rule: add one, or give the class a tag")


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _is_optional(kind: Any) -> bool:
    return _is_union(kind) and type(None) in get_args(kind)


def _optional_writer(kind: Any, converter: cattrs.Converter) -> Hook:
    return _or_none(writer_of(_required(kind), converter))


def _optional_reader(kind: Any, converter: cattrs.Converter) -> Hook:
    return _or_none(reader_of(_required(kind), converter))


def _required(kind: Any) -> Any:
    return reduce(or_, (member for member in get_args(kind) if member is not type(None)))


def _or_none(hook: Hook) -> Hook:
    return lambda value, _=None: None if value is None else hook(value)


def _plain_writer(kind: Any, converter: cattrs.Converter) -> Hook:
    return _fields_writer(kind, converter, {})


def _plain_reader(kind: Any, converter: cattrs.Converter) -> Hook:
    read_fields = _fields_reader(kind, converter, ())

    def read(value: Any, _: Any = None) -> Any:
        return read_fields(_an_object(value))

    return read


def _an_object(value: Any) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise Flaw(f"expected an object, found {shown(value)}")
    return value


def _fields_writer(kind: type[Any], converter: cattrs.Converter, head: Mapping[str, Any]) -> Hook:
    hints = get_type_hints(kind)
    hooks = [(field.name, writer_of(hints[field.name], converter)) for field in attrs.fields(kind)]

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not kind:
            raise Flaw(f"expected a {kind.__name__}, found {shown(value)}")
        written = {**head}
        name = ""
        try:
            for name, hook in hooks:
                written[name] = hook(getattr(value, name))
        except Flaw as flaw:
            raise flaw.under(name) from None
        return written

    return write


def _fields_reader(kind: type[Any], converter: cattrs.Converter, head: tuple[str, ...]) -> Hook:
    hints = get_type_hints(kind)
    hooks = [(field.name, reader_of(hints[field.name], converter)) for field in attrs.fields(kind)]
    keys = frozenset((*head, *(name for name, _ in hooks)))

    def read(value: Mapping[str, Any]) -> Any:
        if value.keys() != keys:
            raise _wrong_keys(value, keys)
        fields = {}
        name = ""
        try:
            for name, hook in hooks:
                fields[name] = hook(value[name])
        except Flaw as flaw:
            raise flaw.under(name) from None
        try:
            return kind(**fields)
        except ValueError as error:
            raise Flaw(str(error)) from None

    return read


def _wrong_keys(value: Mapping[str, Any], keys: frozenset[str]) -> Flaw:
    missing, extra = sorted(keys - value.keys()), sorted(value.keys() - keys)
    if missing:
        return Flaw("the field is missing").under(missing[0])
    return Flaw("the field is not known").under(extra[0])


@attrs.frozen
class _Tagged:
    """Writers and readers of tagged classes and of unions of them."""

    tags: Mapping[type[Any], Tag]
    upcasters: Mapping[tuple[str, int], Upcaster]

    def writer(self, kind: Any, converter: cattrs.Converter) -> Hook:
        """Return the writer of one tagged class or of a union."""
        writers: dict[type[Any], Hook] = {}
        for member in self._members(kind):
            name, version = self.tags[member]
            writers[member] = _fields_writer(member, converter, {TYPE: name, VERSION: version})
        expected = one_of(member.__name__ for member in writers)

        def write(value: Any) -> Any:
            writer = writers.get(type(value))
            if writer is None:
                raise Flaw(f"expected {expected}, found {shown(value)}")
            return writer(value)

        return write

    def reader(self, kind: Any, converter: cattrs.Converter) -> Hook:
        """Return the reader of one tagged class or of a union."""
        readers: dict[str, tuple[int, Hook]] = {}
        for member in self._members(kind):
            name, version = self.tags[member]
            readers[name] = version, _fields_reader(member, converter, (TYPE, VERSION))

        def read(value: Any, _: Any = None) -> Any:
            tag = _an_object(value).get(TYPE)
            if type(tag) is not str or tag not in readers:
                raise Flaw(f"expected {one_of(readers)}, found {shown(tag)}").under(TYPE)
            version = value.get(VERSION)
            known, read_fields = readers[tag]
            if type(version) is not int:
                raise Flaw(f"expected the version of {tag}, found {shown(version)}").under(VERSION)
            try:
                return read_fields(value if version == known else self._lift(value, tag, version, known))
            except Flaw as flaw:
                raise flaw.within(tag, version) from None

        return read

    def _members(self, kind: Any) -> tuple[type[Any], ...]:
        members = get_args(kind) if _is_union(kind) else (kind,)
        for member in members:
            if member not in self.tags:
                raise TypeError(f"{member!r} needs a tag, because it is part of {kind!r}")
        return members

    def _lift(self, value: Mapping[str, Any], tag: str, version: int, known: int) -> Mapping[str, Any]:
        """Bring an older form up to the known one, version by version."""
        if version > known:
            raise Flaw("newer than known", known=known)
        for older in range(version, known):
            upcaster = self.upcasters.get((tag, older))
            if upcaster is None:
                raise Flaw(f"there is no way from version {older} of {tag} to {older + 1}").under(VERSION)
            try:
                value = {**upcaster(value), TYPE: tag, VERSION: older + 1}
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise Flaw(f"version {older} of {tag} does not fit its upcaster: {error!r}") from None
        return value
