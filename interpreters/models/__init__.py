"""Models over HTTP, and the pure decoder beneath: bytes of an answer to a message or a classified failure.

``HttpModel`` speaks every dialect. The decoder is of use without it: ``AnswerDecoder(ChatFolder(), status)``.
"""

from __future__ import annotations

from interpreters.models.assembly import Reply
from interpreters.models.chat_decode import ChatFolder
from interpreters.models.chat_encode import encode_chat
from interpreters.models.clients import Client, OwnConnections
from interpreters.models.decoder import AnswerDecoder
from interpreters.models.dialects import Dialect, Folder
from interpreters.models.failures import Failure, classify
from interpreters.models.faults import Fault, WireRule
from interpreters.models.http import HttpModel
from interpreters.models.known import ANTHROPIC, CHAT, DIALECTS, RESPONSES
from interpreters.models.named import NamedModel, model_at, model_named
from interpreters.models.names import MissingAddress, MissingKey, ModelNotNamed, UnknownProvider, Variables
from interpreters.models.patience import Timeouts
from interpreters.models.prices import ListedPrices, Prices, PricesMissing, Pricing
from interpreters.models.profiles import DEFAULT, PROFILES, Profile
from interpreters.models.sse import ServerEvent, SseDecoder

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "DEFAULT",
    "DIALECTS",
    "PROFILES",
    "RESPONSES",
    "AnswerDecoder",
    "ChatFolder",
    "Client",
    "Dialect",
    "Failure",
    "Fault",
    "Folder",
    "HttpModel",
    "ListedPrices",
    "MissingAddress",
    "MissingKey",
    "ModelNotNamed",
    "NamedModel",
    "OwnConnections",
    "Prices",
    "PricesMissing",
    "Pricing",
    "Profile",
    "Reply",
    "ServerEvent",
    "SseDecoder",
    "Timeouts",
    "UnknownProvider",
    "Variables",
    "WireRule",
    "classify",
    "encode_chat",
    "model_at",
    "model_named",
]
