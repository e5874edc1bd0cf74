"""What goes over the wire, checked before it is sent: header fields that a header can hold, and a body that is JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentcore.messages import clean_text
from interpreters.models.failures import Failure
from interpreters.models.faults import Fault

_ALWAYS: Mapping[str, str] = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
}


class Refused(Exception):
    """A request that cannot be sent."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(fault, message)


def header_fields(dialect: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return all header fields of a request, the later ones over the earlier; raises ``Refused`` without a value."""
    headers = {**_ALWAYS, **dialect, **own}
    unfit = [name for name, value in headers.items() if not (value.isascii() and value.isprintable())]
    if unfit:
        told = f"the value for the header {', '.join(unfit)} holds characters that no header may hold"
        raise Refused(Fault.AUTH, told)
    return headers


def as_json(body: Any) -> bytes:
    """Encode; raises ``Refused`` for what is no JSON. Lone surrogates are replaced, for UTF-8 has none."""
    try:
        return clean_text(json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(Fault.INVALID_REQUEST, f"the request is no JSON: {error}") from error
