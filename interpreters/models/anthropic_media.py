"""Images and documents of the user's side, in the forms that Anthropic messages take."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from agentcore.messages import MediaPart
from interpreters.models.writing import Json, address_of

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Images that can be sent whole."""

_DATA = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL | re.IGNORECASE)
_WEB = re.compile(r"https?:", re.IGNORECASE)
_PDF = "application/pdf"
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})
_SPELLINGS: Mapping[str, str] = {"image/jpg": "image/jpeg"}


def media_block(part: MediaPart) -> Json:
    """Return a medium as a block; as words that name it where there is no form for it."""
    data = _DATA.fullmatch(part.data)
    media_type = (data and data[1].lower()) or part.media_type.lower()
    media_type = _SPELLINGS.get(media_type, media_type)
    if data and ";base64" not in data[2].lower():
        return _named(part)
    address = "" if data else address_of(part)
    content = data[3] if data else part.data
    if address:
        return _referred(part, media_type, address)
    return _whole(part, media_type, content)


def _referred(part: MediaPart, media_type: str, address: str) -> Json:
    """Return what the provider fetches itself."""
    source = {"type": "url", "url": address}
    if _WEB.match(address) and media_type.startswith("image/"):
        return {"type": "image", "source": source}
    if _WEB.match(address) and media_type == _PDF:
        return _document(part, source)
    return _named(part, address)


def _whole(part: MediaPart, media_type: str, content: str) -> Json:
    source = {"type": "base64", "media_type": media_type, "data": content}
    if media_type in IMAGE_TYPES:
        return {"type": "image", "source": source}
    if media_type == _PDF:
        return _document(part, source)
    if media_type.startswith("text/") or media_type in _TEXTS:
        words = _decoded(content)
        if words.strip():
            return _document(part, {"type": "text", "media_type": "text/plain", "data": words})
    return _named(part)


def _document(part: MediaPart, source: Json) -> Json:
    return {"type": "document", "source": source} | ({"title": part.name} if part.name else {})


def _named(part: MediaPart, address: str = "") -> Json:
    name = f"{part.media_type} {part.name}".strip()
    return {"type": "text", "text": f"[{name}: {address or 'not shown, this model does not take it'}]"}


def _decoded(content: str) -> str:
    """Return text from base64; nothing for what is none."""
    try:
        return base64.b64decode(content, validate=True).decode()
    except ValueError:
        return ""
