"""Which model a name means, where it is asked, and with which key: pure, told the environment it may look into.

1. ``PROVIDER:MODEL`` names a row of ``profiles``; ``DIALECT:MODEL`` a dialect at an address that is given. Only what
   stands before the first colon is looked at, and only if it is such a name: ``ollama:qwen3:4b`` is ``qwen3:4b``.
2. What is given goes before variables, those of the environment before those of a file.
3. An address out of a file is used only with a key from there, or with one that is given: a directory that somebody
   else filled must not be able to send the key of the environment elsewhere.
4. A key is in no ``repr`` and no message; addresses are shown without what could be a secret in them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import attrs

from interpreters.models.profiles import DEFAULT, PROFILES, Profile

DIALECT_NAMES = ("chat", "responses", "anthropic")
"""The dialects there are."""

VARIABLES = frozenset(
    variable for profile in PROFILES.values() for variable in (*profile.key_variables, *profile.url_variables)
)
"""Every variable that may hold a key or an address."""

Key = str | Callable[[], str | Awaitable[str]]
"""A key, or something that gives one for each attempt of a request."""


class ModelNotNamed(ValueError):
    """No model can be made of what was told; the text says what is missing and what to do."""


class UnknownProvider(ModelNotNamed):
    """A name says nobody who could be asked."""


class MissingKey(ModelNotNamed):
    """A provider answers nothing without a key, and there is none."""

    def __init__(self, place: str, variables: Iterable[str]) -> None:
        first, *others = variables
        also = f" (or {', '.join(others)})" if others else ""
        self.what = f"no API key for {place}: set {first}{also}"
        """What is missing, and which variable to set."""
        super().__init__(f"{self.what} in the environment, or give api_key=")


class MissingAddress(ModelNotNamed):
    """Every customer of a provider has an address of their own, and there is none."""

    def __init__(self, name: str, variables: Iterable[str]) -> None:
        told = " or ".join(variables)
        self.what = f"no address for {name}:" + (f" set {told}" if told else "")
        """What is missing, and which variable to set."""
        super().__init__(
            f"{self.what} in the environment, or give base_url=" if told else f"{self.what} give base_url="
        )


class KeyOfAnother(ModelNotNamed):
    """An address comes from a file and the key from the environment."""


@attrs.frozen
class Variable:
    """A variable that is set."""

    value: str = attrs.field(repr=False)
    """Its value, without blanks around it."""
    name: str
    """Its name."""
    in_file: bool
    """It stands in a file."""


@attrs.frozen
class Variables:
    """Where variables are looked for."""

    environment: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """The environment."""
    file: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """What a file sets."""

    def find(self, names: Iterable[str]) -> Variable | None:
        """Return the first that is set; an empty one counts as none."""
        names = tuple(names)
        for values, in_file in ((self.environment, False), (self.file, True)):
            for name in names:
                if value := values.get(name, "").strip():
                    return Variable(value, name, in_file)
        return None


@attrs.frozen
class Target:
    """Whom to ask, and how."""

    profile: Profile
    """The family, with the dialect that was asked for."""
    model: str
    """The model's name there."""
    base_url: str = attrs.field(repr=lambda url: repr(shown(url)))
    """Where; without the path of the dialect."""
    key: Key = attrs.field(repr=False)
    """The key, or what gives one; empty for none."""


def is_named(name: str) -> bool:
    """Say whether a name says by itself who is to be asked, or in which dialect."""
    before, colon, _ = name.strip().partition(":")
    return bool(colon) and (before in PROFILES or before in DIALECT_NAMES)


def read_name(name: str, *, dialect: str = "", base_url: str = "") -> tuple[Profile, str]:
    """Take a name apart: the family that is meant, and the model's name there. Raises ``ModelNotNamed``."""
    if dialect and dialect not in DIALECT_NAMES:
        raise UnknownProvider(f"there is no dialect {dialect!r}; there are: {', '.join(DIALECT_NAMES)}")
    before, colon, model = name.strip().partition(":")
    profile = PROFILES.get(before) if colon else None
    if profile is None and colon and before in DIALECT_NAMES:
        profile = attrs.evolve(DEFAULT, dialect=before)
    if profile is not None:
        if not model.strip():
            raise UnknownProvider(f"{name!r} names no model: expected {before}:NAME")
        return attrs.evolve(profile, dialect=dialect or profile.dialect), model.strip()
    if not base_url:
        raise UnknownProvider(
            f"nobody is known who has the model {name!r}: expected PROVIDER:NAME with one of {', '.join(PROFILES)}, "
            "or the address of a server (base_url)"
        )
    return attrs.evolve(DEFAULT, dialect=dialect or DEFAULT.dialect), name.strip()


def find_target(name: str, variables: Variables, *, base_url: str = "", dialect: str = "", api_key: Key = "") -> Target:
    """Find whom a name means; what is given goes before variables. Raises ``ModelNotNamed``."""
    profile, model = read_name(name, dialect=dialect, base_url=base_url)
    return target_of(profile, model, variables, base_url=base_url, api_key=api_key)


def target_of(profile: Profile, model: str, variables: Variables, *, base_url: str = "", api_key: Key = "") -> Target:
    """Find address and key of a family; what is given goes before variables. Raises ``ModelNotNamed``."""
    told = None if base_url else variables.find(profile.url_variables)
    address = base_url or (_address(told.value, profile) if told else profile.base_url)
    if not address:
        raise MissingAddress(profile.name, profile.url_variables)
    key = api_key.strip() if isinstance(api_key, str) else api_key
    if key:
        return Target(profile, model, address, key)
    found = variables.find(profile.key_variables)
    if found is None:
        if profile.needs_key and not needs_no_key(address):
            raise MissingKey(shown(address), profile.key_variables)
        return Target(profile, model, address, "")
    if told is not None and told.in_file and not found.in_file and not is_loopback(address):
        raise KeyOfAnother(
            f"the address {shown(address)} comes from .env and the key {found.name} from the environment: a key is "
            "not sent to an address that a file in the working directory names. Put both there, or give the address"
        )
    return Target(profile, model, address, found.value)


def _address(told: str, profile: Profile) -> str:
    """Complete an address out of a variable: some hold a host and port alone, some leave a path out."""
    usual = urlsplit(profile.base_url)
    if "://" not in told:
        told = f"{usual.scheme or 'https'}://{told}"
        if usual.port and _split(told)[1] is None:
            told = f"{told.rstrip('/')}:{usual.port}"
    told = told.rstrip("/")
    return told if told.endswith(profile.url_suffix) else told + profile.url_suffix


def needs_no_key(url: str) -> bool:
    """Say whether a server may do without a key: it is on this machine, or is not asked by https."""
    return is_loopback(url) or not url.lower().startswith("https:")


def is_loopback(url: str) -> bool:
    """Say whether an address is this machine."""
    host = _split(url)[0]
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def shown(url: str) -> str:
    """Return an address without what could be a secret in it."""
    host, port = _split(url)
    return f"{host}:{port}" if port else host or url[:60]


def _split(url: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None
