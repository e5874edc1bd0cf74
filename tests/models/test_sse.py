"""Server-sent events, from bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreters.models.sse import EventTooLarge, ServerEvent, SseDecoder


def events(data: bytes, size: int = 0) -> list[tuple[str, str]]:
    """Names and data of all events, the bytes cut into pieces of one size."""
    decoder = SseDecoder()
    size = size or max(len(data), 1)
    found = [event for at in range(0, len(data), size) for event in decoder.feed(data[at : at + size])]
    return [(event.name, event.data) for event in [*found, *decoder.close()]]


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"data: a\r\n\ndata: b\r\r\n", [("", "a"), ("", "b")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"data: a\r\ndata: b\r\n\r\n", [("", "a\nb")]),
        (b"data:a\ndata:  b\n\n", [("", "a\n b")]),
        (b"data\n\n", [("", "")]),
        (b": comment\n\n:\n\ndata: a\n: inside\n\n", [("", "a")]),
        (b"event: ping\n\ndata: a\n\n", [("", "a")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", "a"), ("", "b")]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\nid: 2\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [("", "b")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("", "a")]),
        (b"data: a", [("", "a")]),
        (b"data: a\n", [("", "a")]),
        (b"data: a\r", [("", "a")]),
        (b"", []),
        (b"\n\n\n", []),
        ("data: a\u2028b\x0bc\x0cd\x85e\n\n".encode(), [("", "a\u2028b\x0bc\x0cd\x85e")]),
        (b"data: \xff\xc3\n\n", [("", "\ufffd\ufffd")]),
        ("data: 你🌍\n\n".encode(), [("", "你🌍")]),
    ],
)
def test_events_are_read_as_the_standard_says_however_the_bytes_are_cut(data, expected, size):
    assert events(data, size) == expected


LINES = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from([b"data: x", b"data:", b"event: e", b": c", b"", b"", b"\xef\xbb\xbf", b"id: 1"]),
    ),
    max_size=12,
)


@given(
    lines=LINES,
    ends=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n"]), min_size=12, max_size=12),
    cuts=st.sets(st.integers(1, 120), max_size=8),
)
def test_cutting_the_bytes_anywhere_changes_nothing(lines, ends, cuts):
    data = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    places = [0, *sorted(place for place in cuts if place < len(data)), len(data)]
    decoder = SseDecoder()
    found = []
    for begin, end in pairwise(places):
        found += decoder.feed(data[begin:end])
    found += decoder.close()
    assert [(event.name, event.data) for event in found] == events(data)


def test_an_event_that_no_blank_line_ended_says_so():
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\n\ndata: b") == [ServerEvent("", "a")]
    assert decoder.close() == [ServerEvent("", "b", cut=True)]


@pytest.mark.parametrize("piece", [b"data: xxxxxxxxxxxx", b"data: xx\n", b": x"])
def test_an_event_beyond_the_cap_is_an_error_and_not_a_hang(piece):
    decoder = SseDecoder(event_bytes_max=100)
    with pytest.raises(EventTooLarge):
        all(decoder.feed(piece) == [] for _ in range(1000))


def test_comments_and_other_fields_do_not_add_up_to_the_cap():
    decoder = SseDecoder(event_bytes_max=100)
    for _ in range(1000):
        assert decoder.feed(b": keep-alive\nid: 7\n") == []
    assert decoder.feed(b"data: a\n\n") == [ServerEvent("", "a")]
