"""Where sessions are, which model is asked, and with which key: flags before environment before ``.env``.

The key is never stored and never shown. An address from ``.env`` is used only with a key from there or from a flag: a
directory that somebody else filled must not be able to send the key of the environment elsewhere.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from interpreters.cli.dotenv import read_dotenv
from interpreters.cli.exits import Problem

DEFAULT_BASE_URL = "https://api.openai.com/v1"
"""Who is asked unless told otherwise."""


@attrs.frozen
class Setting:
    """A value and where it comes from."""

    value: str
    """The value, without blanks around it."""
    source: str
    """``flag``, ``environment``, ``file`` or ``default``."""
    name: str = ""
    """The variable it was read from."""


@attrs.frozen
class Settings:
    """What was set, by whom."""

    flags: Mapping[str, str | None]
    """Values of flags by name."""
    environment: Mapping[str, str]
    """The environment."""
    file: Mapping[str, str]
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


@attrs.frozen
class Endpoint:
    """Which model is asked, and how."""

    model: str
    """Its name; may be empty where a server has only one."""
    base_url: str
    """Where it is."""
    api_key: str = attrs.field(repr=False)
    """What authorises it."""


def read_settings(arguments: Namespace) -> Settings:
    """Collect the settings of a command. Raises ``Problem`` for a file that cannot be read."""
    environment = dict(os.environ)
    named = getattr(arguments, "env_file", None)
    file = read_dotenv(Path(named or ".env"), required=named is not None)
    flags = {name: getattr(arguments, name, None) for name in ("model", "base_url", "api_key", "sessions")}
    return Settings(flags, environment, file)


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


def endpoint(settings: Settings) -> Endpoint:
    """Return whom to ask. Raises ``Problem`` if a name or a key is missing, or would be sent to the wrong place.

    A server on this machine, or one that is not asked by https, may do without a key.
    """
    url = settings.get("base_url", "AGENTCORE_BASE_URL", "OPENAI_BASE_URL") or Setting(DEFAULT_BASE_URL, "default")
    local = _is_local(url.value)
    keyless = local or not url.value.lower().startswith("https:")
    key = settings.get("api_key", "AGENTCORE_API_KEY", "OPENAI_API_KEY")
    if key is None and not keyless:
        raise Problem(
            f"no API key for {_shown(url.value)}: set OPENAI_API_KEY (or AGENTCORE_API_KEY) in the environment or in "
            ".env, or give --api-key"
        )
    if key is not None and key.source == "environment" and url.source == "file" and not local:
        raise Problem(
            f"the address {_shown(url.value)} comes from .env and the key {key.name} from the environment: a key is "
            "not sent to an address that a file in the working directory names. Put both there, or give --base-url"
        )
    model = settings.get("model", "AGENTCORE_MODEL", "OPENAI_MODEL")
    if model is None and not local:
        raise Problem("no model named: give --model NAME or set AGENTCORE_MODEL")
    return Endpoint(model.value if model else "", url.value, key.value if key else "")


def _is_local(url: str) -> bool:
    host = _split(url)[0]
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(url: str) -> str:
    """Return an address without what could be a secret in it."""
    host, port = _split(url)
    return f"{host}:{port}" if port else host or url[:60]


def _split(url: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None
