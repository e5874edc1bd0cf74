"""What pydantic-ai raises, classified like every other failure.

Its classes decide where they say one thing; where they are general, what the provider said does (``failures``).
"""

from __future__ import annotations

import attrs
from pydantic_ai import exceptions

from agentcore.events import ModelFailure
from interpreters.models.failures import MESSAGE_LENGTH_MAX, Failure, classify
from interpreters.models.faults import Fault
from interpreters.support.bounded import bounded

_FAULTS: tuple[tuple[type[Exception], Fault], ...] = (
    (exceptions.ContentFilterError, Fault.CONTENT_FILTER),
    (exceptions.ModelQuotaExceededError, Fault.QUOTA),
    (exceptions.ModelRateLimitError, Fault.RATE_LIMITED),
    (exceptions.ModelOverloadedError, Fault.OVERLOADED),
    (exceptions.ModelAuthenticationError, Fault.AUTH),
    (exceptions.ModelNotFoundError, Fault.NOT_FOUND),
    (exceptions.ModelContextWindowExceededError, Fault.CONTEXT_OVERFLOW),
    (exceptions.ModelTimeoutError, Fault.IDLE_TIMEOUT),
    (exceptions.ModelRequestTimeout, Fault.IDLE_TIMEOUT),
    (exceptions.ModelConnectionError, Fault.CONNECTION),
    (exceptions.UnexpectedModelBehavior, Fault.MALFORMED_STREAM),
    (exceptions.UserError, Fault.INVALID_REQUEST),
    (ValueError, Fault.INVALID_REQUEST),
)
"""What each class says; the first row that fits decides. Classes that only say whose fault it was are left out."""


def failure_of(error: Exception, now_ms: int) -> Failure:
    """Classify what was raised; ``now_ms`` turns a date into a wait."""
    if isinstance(error, ExceptionGroup):
        return _of_several([failure_of(each, now_ms) for each in error.exceptions])
    fault = next((fault for kind, fault in _FAULTS if isinstance(error, kind)), None)
    words = bounded(str(error).strip() or type(error).__name__, MESSAGE_LENGTH_MAX).text
    if not isinstance(error, exceptions.ModelAPIError):
        return Failure(fault or Fault.DEFECT, words if fault else f"unforeseen {type(error).__name__}: {words}")
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    headers = (error.headers if isinstance(error, exceptions.ModelHTTPError) else None) or {}
    told = classify(error.body or {"message": words, "code": error.provider_error_code}, status, headers, now_ms)
    wait = told.retry_after_ms if error.retry_after is None else round(error.retry_after * 1000)
    return attrs.evolve(told, fault=fault or told.fault, retry_after_ms=wait)


def _of_several(failures: list[Failure]) -> Failure:
    """Return the failure of several models that were asked one after the other: one that may pass, if there is one."""
    passing = [each for each in failures if each.kind is ModelFailure.RETRYABLE]
    told = "; ".join(each.message for each in failures)
    return attrs.evolve((passing or failures)[-1], message=bounded(told, MESSAGE_LENGTH_MAX).text)
