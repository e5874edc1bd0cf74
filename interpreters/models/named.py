"""Models by name: ``openai:NAME``, ``anthropic:NAME``, ``ollama:NAME`` …, or a server's address with a dialect.

```python
Agent(model="openai:gpt-…")  # the key from OPENAI_API_KEY
Agent(model=model_named("chat:my-model", base_url="https://models.example/v1", api_key=fetch_token))
```

``profiles`` says who is known, ``names`` how a name is read. A key may be given as a function, plain or async: it is
called for each attempt of a request, so that a token that expires is fetched anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import attrs

from agentcore.events import ModelFailed, ModelReplied, ModelStopped
from interpreters.models.clients import Client
from interpreters.models.hiding import Hiding
from interpreters.models.http import HttpModel
from interpreters.models.names import VARIABLES, Key, ModelNotNamed, Target, Variables, find_target
from interpreters.models.patience import Timeouts
from interpreters.models.prices import ListedPrices, Pricing
from interpreters.models.profiles import Profile
from interpreters.support import osio
from interpreters.support.dotenv import read_dotenv
from interpreters.support.ports_model import Model, ModelRun, RefreshCredentials


@attrs.frozen
class NamedModel:
    """A model of a family of providers, and whom it asks. Keeps every promise of ``ports_model``."""

    target: Target
    """Whom it asks, and how."""
    _inner: Model
    _hiding: Hiding = attrs.field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be shown nowhere: the key, if it does not change from request to request."""
        key = self.target.key
        return (key,) if isinstance(key, str) and key else ()

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Send the request once and return how it ended."""
        return self._hiding.ended(await self._inner.answer(self._hiding.watched(run)))


FOREIGN = "pydantic-ai"
"""Before the colon of a name that pydantic-ai reads: ``pydantic-ai:google:gemini-…``."""


def model_named(
    name: str,
    *,
    base_url: str = "",
    dialect: str = "",
    api_key: Key = "",
    variables: Variables | None = None,
    env_file: Path | str | None = None,
    client: Client | None = None,
    timeouts: Timeouts | None = None,
    prices: Pricing | None = None,
) -> NamedModel:
    """Return the model that a name means.

    - ``base_url``, ``dialect`` (``chat``, ``responses`` or ``anthropic``): instead of what the provider's row says.
    - ``api_key``: the key, or a function that gives it; without one it is looked for in ``variables``.
    - ``variables``: where keys and addresses are looked for; without them in the environment of this process, and in
      ``env_file`` if one is named.
    - ``prices``: without them those of the list that the extra ``prices`` installs, if it is there.

    ``pydantic-ai:NAME`` is any model that pydantic-ai has by that name (see ``pydantic_ai``).

    Raises ``ModelNotNamed`` for an unknown provider, a missing key or address; ``DotenvError`` for the file.
    """
    if is_foreign(name):
        if base_url or dialect or api_key:
            raise ModelNotNamed(
                f"{FOREIGN}: takes address, dialect and key as pydantic-ai does, from its own variables"
            )
        return foreign_model(name, prices)
    known = variables or Variables(osio.environment(), _read(env_file))
    target = find_target(name, known, base_url=base_url, dialect=dialect, api_key=api_key)
    return model_at(target, client=client, timeouts=timeouts, prices=prices)


def model_at(
    target: Target,
    *,
    client: Client | None = None,
    timeouts: Timeouts | None = None,
    prices: Pricing | None = None,
) -> NamedModel:
    """Return the model at a target; ``ValueError`` for an address that is none."""
    key, profile = target.key, target.profile
    hiding = Hiding((key,) if isinstance(key, str) else ())
    inner = HttpModel(
        target.model,
        base_url=target.base_url,
        profile=profile,
        api_key=key if isinstance(key, str) else "",
        credentials=None if isinstance(key, str) else _fetching(key, profile, hiding),
        client=client,
        timeouts=timeouts,
        prices=prices or ListedPrices(target.base_url),
    )
    return NamedModel(target, inner, hiding)


def is_foreign(name: str) -> bool:
    """Say whether a name is one that pydantic-ai reads."""
    return name.strip().startswith(f"{FOREIGN}:")


def foreign_model(name: str, prices: Pricing | None = None) -> NamedModel:
    """Return the model that pydantic-ai has by the name behind ``pydantic-ai:``.

    Raises ``ModelNotNamed`` where it has none or is not installed, or lacks what the model needs: the text says what.
    """
    theirs = name.strip().removeprefix(f"{FOREIGN}:")
    try:
        from interpreters.models.pydantic_ai import PydanticAIModel  # noqa: PLC0415 - it needs an extra

        model = PydanticAIModel(theirs, prices=prices)
    except (ImportError, RuntimeError, ValueError) as error:
        raise ModelNotNamed(f"{name}: {error}") from error
    profile = Profile(FOREIGN, dialect=FOREIGN, needs_key=False)
    target = Target(profile, theirs.rpartition(":")[2], model.base_url, "".join(model.secrets[:1]))
    return NamedModel(target, model, Hiding(model.secrets))


def _read(env_file: Path | str | None) -> Mapping[str, str]:
    return read_dotenv(Path(env_file), VARIABLES.__contains__) if env_file is not None else {}


def _fetching(fetch: Callable[[], str | Awaitable[str]], profile: Profile, hiding: Hiding) -> RefreshCredentials:
    """Return the function that fetches a key and makes the header field that carries it."""

    async def fields() -> Mapping[str, str]:
        found = fetch()
        key = await found if inspect.isawaitable(found) else found
        if not key.strip():
            raise ValueError(f"what gives the key for {profile.name} gave none")
        hiding.add(key.strip())
        return profile.authorised(key)

    return fields
