"""Models over HTTP, and the pure decoder beneath: bytes of an answer to a message or a classified failure.

``ChatModel`` speaks chat-completions. The decoder is of use without it: ``AnswerDecoder(ChatFolder(), status)``.
"""

from __future__ import annotations

from interpreters.models.assembly import Reply
from interpreters.models.chat import ChatModel
from interpreters.models.chat_decode import ChatFolder
from interpreters.models.chat_encode import encode_chat
from interpreters.models.decoder import AnswerDecoder
from interpreters.models.dialects import Dialect, Folder
from interpreters.models.failures import Failure, classify
from interpreters.models.faults import Fault
from interpreters.models.known import CHAT, DIALECTS
from interpreters.models.patience import Timeouts
from interpreters.models.prices import ListedPrices, Prices, PricesMissing, Pricing
from interpreters.models.profiles import DEFAULT, PROFILES, Profile
from interpreters.models.sse import ServerEvent, SseDecoder

__all__ = [
    "CHAT",
    "DEFAULT",
    "DIALECTS",
    "PROFILES",
    "AnswerDecoder",
    "ChatFolder",
    "ChatModel",
    "Dialect",
    "Failure",
    "Fault",
    "Folder",
    "ListedPrices",
    "Prices",
    "PricesMissing",
    "Pricing",
    "Profile",
    "Reply",
    "ServerEvent",
    "SseDecoder",
    "Timeouts",
    "classify",
    "encode_chat",
]
