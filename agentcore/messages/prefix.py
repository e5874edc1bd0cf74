"""Telling cut JSON from wrong JSON: is there any text that would complete it to an object?

A message whose arguments merely end early was cut, and none of its calls may run; arguments that no text completes
spoil only their own call (L12). So both mistakes matter, and guessing from a parser's complaint is not enough.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CUT_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?")
_PLAIN = re.compile(r"[-+.0-9A-Za-z]*")
"""A run of letters in which a number or a word can stand."""
_WORDS = ("true", "false", "null")

_CUT, _WRONG = -1, -2
"""Instead of a position: the text ended inside a token, or the token is none."""

_FIRST_KEY, _KEY, _COLON, _FIRST_ITEM, _VALUE, _NEXT = "first-key", "key", "colon", "first-item", "value", "next"


def ends_early(text: str) -> bool:
    """Say whether the text is a proper beginning of a JSON object: some continuation would make it one."""
    position = _skip(text, 0)
    return text.startswith("{", position) and _walk(text, position + 1)


def _walk(text: str, position: int) -> bool:
    """Follow the grammar with a stack of open brackets until the text ends, goes wrong, or is complete."""
    stack, wanted = ["}"], _FIRST_KEY
    while stack:
        position = _skip(text, position)
        if position == len(text):
            return True
        letter = text[position]
        if letter == stack[-1] and wanted in (_FIRST_KEY, _FIRST_ITEM, _NEXT):
            stack.pop()
            position, wanted = position + 1, _NEXT
        elif wanted is _NEXT:
            if letter != ",":
                return False
            position, wanted = position + 1, _KEY if stack[-1] == "}" else _VALUE
        elif wanted is _COLON:
            if letter != ":":
                return False
            position, wanted = position + 1, _VALUE
        elif wanted in (_VALUE, _FIRST_ITEM) and letter in "{[":
            stack.append("}" if letter == "{" else "]")
            position, wanted = position + 1, _FIRST_KEY if letter == "{" else _FIRST_ITEM
        else:
            wants_key = wanted in (_KEY, _FIRST_KEY)
            position = _scalar(text, position, key=wants_key)
            if position < 0:
                return position == _CUT
            wanted = _COLON if wants_key else _NEXT
    # Complete: only blanks may follow, and then nothing is missing.
    return False


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _scalar(text: str, position: int, *, key: bool) -> int:
    """Return the position behind a string, number or word, or why there is none."""
    if text[position] == '"':
        return _string(text, position)
    if key:
        return _WRONG
    found = _PLAIN.match(text, position)
    end = found.end() if found else position
    token = text[position:end]
    if end == len(text) and (_CUT_NUMBER.fullmatch(token) or any(word.startswith(token) for word in _WORDS)):
        return _CUT
    return end if token in _WORDS or _NUMBER.fullmatch(token) else _WRONG


def _string(text: str, position: int) -> int:
    found = _STRING.match(text, position)
    end = found.end() if found else position
    if end == len(text) or _CUT_ESCAPE.match(text, end):
        return _CUT
    return end + 1 if text[end] == '"' else _WRONG
