"""What went wrong with a request: from status codes, error objects, phrases and headers to one classification.

Providers tell one fault in many ways: as a status, as an object in a 200 answer, as an event in mid-stream, as a finish
label, as a page of HTML. The tables of ``faults`` are read in this order, and the first that speaks decides:

1. ``TOO_LARGE_STATUS``: 413 means that the request has to become smaller, whatever the body calls it.
2. ``Profile.codes``, ``LABELS``, ``codes.ANYWHERE``: error types and codes that mean one thing.
3. ``PHRASES``: words of the message, for faults that come under a general label.
4. The status: ``STATUSES``, then its hundred.
5. ``GENERAL``: types and codes that only say whose fault it was.

What may be done about a fault is ``KINDS`` (D-14). ``x-should-retry`` overrides it, except that nothing in ``NEVER``
becomes retryable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import attrs

from agentcore.events import ModelFailure
from agentcore.messages import clean_text
from interpreters.models.codes import ANYWHERE
from interpreters.models.faults import (
    GENERAL,
    KINDS,
    LABELS,
    NEVER,
    PHRASES,
    RULES,
    STATUSES,
    TOO_LARGE_STATUS,
    Fault,
    WireRule,
)
from interpreters.support.bounded import bounded

MESSAGE_LENGTH_MAX = 1_000
"""Characters of a provider's message that are kept."""

_REDIRECTS_FROM = 300
_MESSAGE_KEYS = ("message", "msg", "detail", "error_description", "title", "reason", "raw")
_LABEL_KEYS = ("code", "type", "status", "error", "error_type")
_RETRY_KEYS = ("retry_after", "retryDelay")
_NESTED_KEYS = ("error", "metadata", "detail", "details", "errors")
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_WAIT = re.compile(
    rf"\b(?:try again|retry) (?:in|after) (?=\d)(?:{_NUMBER}h)?(?:{_NUMBER}m(?!s))?"
    rf"(?:{_NUMBER} ?s(?:ec\w*)?\b)?(?:{_NUMBER} ?ms\b)?",
    re.IGNORECASE,
)
_DEPTH_MAX = 6
_WIDTH_MAX = 40


@attrs.frozen
class Failure:
    """Why there is no message."""

    fault: Fault
    """What went wrong."""
    message: str
    """Cause in words, bounded; not yet free of secrets."""
    status: int | None = None
    """HTTP status, or the one the provider put into its error object."""
    retry_after_ms: int | None = None
    """How long the server asks to wait, in milliseconds."""
    should_retry: bool | None = None
    """The server's word on retrying, if it gave one."""

    @property
    def rule(self) -> WireRule:
        """Which rule of the wire was broken."""
        return RULES[self.fault]

    @property
    def kind(self) -> ModelFailure:
        """What may be done about it."""
        kind = KINDS[self.fault]
        if self.should_retry is False and kind is ModelFailure.RETRYABLE:
            return ModelFailure.FATAL
        if self.should_retry and kind is ModelFailure.FATAL and self.fault not in NEVER:
            return ModelFailure.RETRYABLE
        return kind


class WireFault(Exception):
    """Raised inside a decoder where what was read tells of a fault; never leaves it."""

    def __init__(self, failure: Failure, told: Any = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.told = told
        """The provider's error, if it is one: who knows more (header fields, codes) may classify it anew."""


def told_fault(told: Any) -> WireFault:
    """Make the fault that a provider's error object, or text, tells of."""
    return WireFault(classify(told), told)


@attrs.define
class _Told:
    """Everything of interest found in an error object, wherever it stood."""

    labels: list[str] = attrs.field(factory=list)
    words: list[str] = attrs.field(factory=list)
    status: int | None = None
    retry_after_ms: int | None = None

    def read(self, value: Any, depth: int = 0) -> None:
        """Collect from an error object and what it wraps."""
        if depth > _DEPTH_MAX:
            return
        if isinstance(value, str):
            self.words.append(value)
        elif isinstance(value, list):
            for item in value[:_WIDTH_MAX]:
                self.read(item, depth + 1)
        elif isinstance(value, dict):
            self._read_object(value, depth)

    def _read_object(self, value: dict[str, Any], depth: int) -> None:
        self.words += [found for key in _MESSAGE_KEYS if isinstance(found := value.get(key), str) and found]
        for key in _LABEL_KEYS:
            self._read_label(value.get(key))
        for key in _RETRY_KEYS:
            self.retry_after_ms = self.retry_after_ms or _seconds(str(value.get(key, "")).removesuffix("s"))
        for key in _NESTED_KEYS:
            found = value.get(key)
            if isinstance(found, dict | list):
                self.read(found, depth + 1)

    def _read_label(self, label: Any) -> None:
        if isinstance(label, bool) or not isinstance(label, str | int):
            return
        text = str(label)
        self.labels.append(text.lower())
        if re.fullmatch(r"[1-5]\d\d", text):
            self.status = self.status or int(text)
        elif " " in text:
            # What stands in ``error`` may be a label or the message itself.
            self.words.append(text)


def classify(
    error: Any,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    now_ms: int = 0,
    codes: Mapping[str, Fault] | None = None,
) -> Failure:
    """Classify an answer that is no message: its error object or text, its status and its header fields.

    ``headers`` has lower-case names. ``now_ms``, milliseconds since the Unix epoch, turns a date into a wait. ``codes``
    are those of the provider's family (``Profile.codes``) and go before the common ones.
    """
    told = _Told()
    told.read(error)
    told_status = status if _is_error(status) else told.status or status
    words = [clean_text(word.strip()) for word in dict.fromkeys(told.words) if word.strip()]
    waits = _header_wait(headers or {}, now_ms)
    wait = waits
    if wait is None:
        wait = told.retry_after_ms if told.retry_after_ms is not None else _spoken_wait(" ".join(words))
    own = next((codes[label] for label in told.labels if codes and label in codes), None)
    fault = own or _fault(told.labels, " ".join(words).lower(), told_status, waits=wait is not None)
    message = "; ".join(words) or clean_text(", ".join(told.labels)) or "no reason was given"
    should = {"true": True, "false": False}.get((headers or {}).get("x-should-retry", "").strip().lower())
    return Failure(fault, bounded(message, MESSAGE_LENGTH_MAX).text, told_status, wait, should)


def _fault(labels: list[str], words: str, status: int | None, *, waits: bool) -> Fault:
    phrase = next((fault for fault, pattern in PHRASES if pattern.search(words)), None)
    if status == TOO_LARGE_STATUS:
        return phrase if phrase is Fault.CONTEXT_OVERFLOW else Fault.MEDIA_TOO_LARGE
    label = next((table[label] for table in (LABELS, ANYWHERE) for label in labels if label in table), None)
    if label:
        return label
    if phrase is Fault.QUOTA and STATUSES.get(status or 0) is Fault.RATE_LIMITED and waits:
        # A quota that refills by itself, and the server says when: a rate by another name.
        return Fault.RATE_LIMITED
    if phrase:
        return phrase
    if status is not None and _is_error(status):
        return _status_fault(status)
    return next((GENERAL[label] for label in labels if label in GENERAL), Fault.SERVER)


def _is_error(status: int | None) -> bool:
    return status is not None and status >= _REDIRECTS_FROM


def _status_fault(status: int) -> Fault:
    if status in STATUSES:
        return STATUSES[status]
    return {3: Fault.PROTOCOL, 4: Fault.INVALID_REQUEST}.get(status // 100, Fault.SERVER)


def _header_wait(headers: Mapping[str, str], now_ms: int) -> int | None:
    """Read ``retry-after-ms`` and ``retry-after``, in seconds or as a date; ``None`` if they say nothing usable."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        exact = _seconds(headers.get(name, ""))
        if exact is not None:
            return exact // 1000
    told = headers.get("retry-after", "")
    seconds = _seconds(told)
    if seconds is not None or not told:
        return seconds
    try:
        due = parsedate_to_datetime(told)
        # A date that names no zone is in UTC, never in the zone of this machine.
        due_s = (due if due.tzinfo else due.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0, round(due_s * 1000) - now_ms)


def _spoken_wait(words: str) -> int | None:
    """Read a wait out of a message, where an error in mid-stream has no header fields to tell it by."""
    found = _WAIT.search(words)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, millis = (float(number or 0) for number in found.groups())
    return round(((hours * 60 + minutes) * 60 + seconds) * 1000 + millis)


def _seconds(text: str) -> int | None:
    """Return a plain number of seconds in milliseconds; ``None`` for anything else."""
    text = text.strip()
    return round(float(text) * 1000) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None
