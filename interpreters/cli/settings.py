"""Where sessions are, which model is asked, and with which key: flags before environment before ``.env``.

The key is never stored and never shown. An address from ``.env`` is used only with a key from there or from a flag: a
directory that somebody else filled must not be able to send the key of the environment elsewhere.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import attrs

from interpreters.cli.exits import Problem
from interpreters.models.names import (
    VARIABLES,
    MissingAddress,
    MissingKey,
    ModelNotNamed,
    Target,
    Variables,
    find_target,
    is_loopback,
    is_named,
    read_name,
    target_of,
)
from interpreters.models.profiles import DEFAULT, PROFILES
from interpreters.support.dotenv import DotenvError, read_dotenv

MODEL_VARIABLES = ("AGENTCORE_MODEL", "OPENAI_MODEL")
"""Variables that may name the model."""


@attrs.frozen
class Setting:
    """A value and where it comes from."""

    value: str = attrs.field(repr=False)
    """The value, without blanks around it; it may be a key."""
    source: str
    """``flag``, ``environment``, ``file`` or ``default``."""
    name: str = ""
    """The variable it was read from."""


@attrs.frozen
class Settings:
    """What was set, by whom."""

    flags: Mapping[str, str | None] = attrs.field(repr=False)
    """Values of flags by name."""
    environment: Mapping[str, str] = attrs.field(repr=False)
    """The environment."""
    file: Mapping[str, str] = attrs.field(repr=False)
    """Our lines of ``.env``."""

    def get(self, flag: str, *variables: str) -> Setting | None:
        """Return the first value there is; an empty one counts as none."""
        given = (self.flags.get(flag) or "").strip()
        if given:
            return Setting(given, "flag")
        for source, values in (("environment", self.environment), ("file", self.file)):
            for name in variables:
                if value := values.get(name, "").strip():
                    return Setting(value, source, name)
        return None


def read_settings(arguments: Namespace) -> Settings:
    """Collect the settings of a command. Raises ``Problem`` for a file that cannot be read."""
    environment = dict(os.environ)
    named = getattr(arguments, "env_file", None)
    try:
        file = read_dotenv(Path(named or ".env"), _is_ours, required=named is not None)
    except DotenvError as error:
        raise Problem(str(error)) from error
    flags = {name: getattr(arguments, name, None) for name in ("model", "base_url", "dialect", "api_key", "sessions")}
    return Settings(flags, environment, file)


def _is_ours(name: str) -> bool:
    return name.startswith(("OPENAI_", "AGENTCORE_")) or name in VARIABLES


def sessions_place(settings: Settings) -> Path:
    """Return the directory of the sessions: a flag, ``AGENTCORE_HOME``, or where the desktop standard says."""
    if given := settings.get("sessions"):
        return Path(given.value)
    if home := settings.get("", "AGENTCORE_HOME"):
        return Path(home.value) / "sessions"
    if data := settings.environment.get("XDG_DATA_HOME", ""):
        return Path(data) / "agentcore" / "sessions"
    if user := settings.environment.get("HOME", ""):
        return Path(user) / ".local" / "share" / "agentcore" / "sessions"
    raise Problem("no place for sessions: HOME is not set; give --sessions DIR or set AGENTCORE_HOME")


def endpoint(settings: Settings) -> Target:
    """Return whom to ask. Raises ``Problem`` if a name or a key is missing, or would be sent to the wrong place.

    ``PROVIDER:NAME`` takes key and address from that provider's variables. Any other name is asked at the address that
    is set, or at OpenAI's. A server on this machine, or one that is not asked by https, may do without a key.
    """
    named = settings.get("model", *MODEL_VARIABLES)
    flags = {flag: setting.value for flag in ("base_url", "dialect", "api_key") if (setting := settings.get(flag))}
    known = Variables(settings.environment, settings.file)
    try:
        if named is not None and is_named(named.value):
            return find_target(named.value, known, **flags)
        return _plain(named.value if named else "", known, **flags)
    except MissingKey as error:
        raise Problem(f"{error.what} in the environment or in .env, or give --api-key") from error
    except MissingAddress as error:
        raise Problem(f"{error.what} in the environment or in .env, or give --base-url") from error
    except ModelNotNamed as error:
        raise Problem(str(error)) from error


def _plain(name: str, known: Variables, *, base_url: str = "", dialect: str = "", api_key: str = "") -> Target:
    """Find a model by its bare name: at OpenAI, or at the server whose address is set."""
    family = attrs.evolve(
        PROFILES["openai"],
        key_variables=("AGENTCORE_API_KEY", "OPENAI_API_KEY"),
        url_variables=("AGENTCORE_BASE_URL", "OPENAI_BASE_URL"),
    )
    told = base_url or known.find(family.url_variables)
    if told:
        same = ("key_variables", "url_variables", "needs_key")
        family = attrs.evolve(DEFAULT, **{field: getattr(family, field) for field in same})
    if dialect:
        family = attrs.evolve(family, dialect=read_name(name or "-", dialect=dialect, base_url="-")[0].dialect)
    found = target_of(family, name, known, base_url=base_url, api_key=api_key)
    if not name and not is_loopback(found.base_url):
        raise Problem("no model named: give --model NAME or set AGENTCORE_MODEL")
    return found
