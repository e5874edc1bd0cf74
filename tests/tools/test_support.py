"""Text made harmless, short and free of secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreters.support.bounded import HeadAndTail, bounded
from interpreters.support.cleaning import shortened, visible, visible_line
from interpreters.support.redaction import REDACTED, RedactingStream, Redactor

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü \N{GRINNING FACE}\u00a0x\n\ty", "plain äöü \N{GRINNING FACE}\u00a0x\n\ty"),
        ("\x1b[2Jgone", "\\u001b[2Jgone"),
        ("a\rb\x08\x7f\x00", "a\\u000db\\u0008\\u007f\\u0000"),
        ("\x9b31m", "\\u009b31m"),
        ("a\u202eb\u2066c\u200bd\ufeff", "a\\u202eb\\u2066c\\u200bd\\ufeff"),
        ("a\u2028b", "a\\u2028b"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_what_does_not_print_is_shown_by_its_number(text, shown):
    assert visible(text) == shown


def test_one_line_stays_one_line():
    assert visible_line("a\nb\tc") == "a\\u000ab\\u0009c"


@given(st.text())
def test_nothing_that_moves_a_cursor_is_ever_left(text):
    assert all(letter.isprintable() or letter in "\n\t" or letter.isspace() for letter in visible(text))
    assert not set(visible_line(text)) & set("\x1b\n\r\t\x08\x7f\x9b\u202e\u2028")


@pytest.mark.parametrize(("text", "short"), [("abc", "abc"), ("abcd", "ab…")])
def test_a_text_is_shortened_to_its_beginning(text, short):
    assert shortened(text, 3) == short


@pytest.mark.req("G-13")
def test_what_fits_is_left_alone_and_what_does_not_loses_its_middle():
    assert bounded("abcdef", 6).text == "abcdef"
    cut = bounded("abcdefgh", 4, "see there")
    assert cut.text == "ab\n[... 4 characters left out; see there ...]\ngh"
    assert cut.left_out == 4


@given(st.text(max_size=200), st.integers(0, 30), st.data())
def test_text_in_pieces_is_cut_like_text_in_one(text, limit, data):
    ends, rest = HeadAndTail(limit), text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        ends.add(rest[:size])
        rest = rest[size:]
    assert ends.cut("w") == bounded(text, limit, "w")


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abcdefghijk1", "Authorization: Bearer [redacted]"),
        ("authorization: bearer abcdefghijklmnopqrstuvw", "authorization: bearer [redacted]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [redacted]"),
        ("key sk-abcdefghijklmnopqrstu end", "key [redacted] end"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "[redacted]"),
        ("https://me:hunter2@host/x", "https://me:[redacted]@host/x"),
        (PEM, "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----"),
        ("password = correct", "password = correct"),
        ("bearer certificates", "bearer certificates"),
        ("ask-me-anything-you-like-today", "ask-me-anything-you-like-today"),
    ],
)
def test_forms_of_credentials_are_taken_out_and_ordinary_text_stays(text, redacted):
    assert Redactor().redact(text) == redacted


def test_values_of_the_host_are_taken_out_as_they_are_and_as_json_writes_them():
    redactor = Redactor(['pass"word', "pass"[:4] + 'word"'])
    assert redactor.redact('x pass"word y pass\\"word z') == f"x {REDACTED} y {REDACTED} z"


def test_a_value_too_short_to_be_told_apart_is_refused():
    with pytest.raises(ValueError, match="needs at least 6"):
        Redactor(["abc"])


def test_forms_can_be_left_alone():
    assert Redactor(["secret-1"], forms=False).redact("secret-1 sk-abcdefghijklmnopqrstu").startswith("[redacted] sk-")


SECRETS = ["hunter2hunter2", "two\nlines", "sk-abcdefghijklmnopqrstu", PEM]


@given(st.lists(st.sampled_from([*SECRETS, "word ", "\n", "x" * 40, "a-b"]), max_size=12), st.data())
def test_a_stream_in_pieces_is_rid_of_the_same_secrets_as_text_in_one(parts, data):
    redactor = Redactor(["hunter2hunter2", "two\nlines"])
    text = "".join(parts)
    stream, shown, rest = RedactingStream(redactor), [], text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        shown.append(stream.feed(rest[:size]))
        rest = rest[size:]
    shown.append(stream.close())
    assert "".join(shown) == redactor.redact(text)


def test_complete_lines_are_let_go_of_at_once():
    stream = RedactingStream(Redactor(["hunter2hunter2"]))
    assert stream.feed("one\ntwo\nthr") == "one\ntwo\n"
    assert stream.feed("ee\n") == "three\n"


def test_one_endless_line_is_not_held_back_for_ever():
    stream = RedactingStream(Redactor(["hunter2hunter2"]))
    assert len(stream.feed("x" * 1_000_000)) > 900_000
    assert stream.close().startswith("x")
