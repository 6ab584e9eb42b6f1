# SPDX-License-Identifier: Apache-2.0
"""Header blocks of HTTP/2, with the examples of RFC 7541, and whatever a broken server may send."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steersman.kube.http.hpack import encode_field, read_fields, read_header, read_status

#: RFC 7541, C.6.1: all strings are Huffman coded, everything is added to a table (of which nothing is used).
EXAMPLE = bytes.fromhex(
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3"
)


def test_the_example_of_the_standard_is_read() -> None:
    assert list(read_fields(EXAMPLE)) == [
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ]
    assert read_status(EXAMPLE) == 302
    assert read_header(EXAMPLE, "date") == "Mon, 21 Oct 2013 20:13:21 GMT"
    assert read_header(EXAMPLE, "retry-after") is None


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        # C.2.1 to C.2.4
        ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", [("custom-key", "custom-header")]),
        ("040c2f73616d706c652f70617468", [(":path", "/sample/path")]),
        ("100870617373776f726406736563726574", [("password", "secret")]),
        ("82", [(":method", "GET")]),
    ],
)
def test_each_way_of_writing_a_header_is_read(block: str, fields: list[tuple[str, str]]) -> None:
    assert list(read_fields(bytes.fromhex(block))) == fields


@pytest.mark.parametrize("entry", range(8, 15))
def test_a_short_status_refers_to_any_entry_with_its_name(entry: int) -> None:
    created, rest = bytes((entry, 0x82, 0x10, 0x03)), encode_field("date", "today")
    assert [read_status(created + rest) for _ in range(2)] == [201, 201]
    assert read_status(b"\x20" + created) == 201


def test_a_short_status_that_is_none_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="does not begin with its status"):
            read_status(b"\x07\x82\x10\x03")  # the entry before, which has another name


@pytest.mark.parametrize(("byte", "status"), [(0x88, 200), (0x89, 204), (0x8C, 400), (0x8D, 404), (0x8E, 500)])
def test_a_usual_status_is_one_byte(byte: int, status: int) -> None:
    assert read_status(bytes((byte,))) == status


def test_the_notice_that_nothing_is_remembered_is_passed_over() -> None:
    assert read_status(b"\x20\x88") == 200


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        (b"", "status"),
        (b"\x82", "status"),  # a method
        (b"\x08\x02xx", "status"),
        (b"\x08\x03\xb2\xb9\xb3", "status"),  # superscript digits
        (b"\xbe\x88", "nothing is remembered"),  # the first entry of a table that there is not
        (b"\x80", "nothing is remembered"),
        (b"\x3f\xe1\x1f\x88", "header table of 4096 bytes"),
        (b"\x08", "cut off"),
        (b"\x08\x05200", "cut off"),
        (b"\x00", "cut off"),
        (b"\x08\x7f\xff\xff\xff\xff\xff\xff", "does not end"),
        (b"\x08\x81\x00", "does not end"),  # a zero, and three bits that are not ones
        (b"\x08\x82\x07\xff", "does not end"),  # a whole byte of padding
        (b"\x08\x84\xff\xff\xff\xff", "stands for nothing"),
    ],
)
def test_what_is_no_header_block_is_refused(block: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_status(block)


def test_a_method_path_and_scheme_that_are_usual_take_a_byte_each() -> None:
    block = encode_field(":method", "POST") + encode_field(":scheme", "https")
    assert block == b"\x83\x87"


def test_credentials_are_marked_as_never_indexed() -> None:
    assert encode_field("authorization", "Bearer x")[0] & 0xF0 == 0x10


@given(
    st.lists(
        st.tuples(
            st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1), st.text(st.characters(max_codepoint=126), max_size=500)
        )
    )
)
def test_what_is_written_is_read(fields: list[tuple[str, str]]) -> None:
    block = b"".join(encode_field(name, value) for name, value in fields)
    assert list(read_fields(block)) == fields


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(block: bytes) -> None:
    try:
        list(read_fields(block))
    except ValueError:
        return


@given(st.integers(min_value=0, max_value=len(EXAMPLE) - 1))
def test_a_block_that_is_cut_off_has_fewer_headers_or_is_refused(length: int) -> None:
    try:
        read = list(read_fields(EXAMPLE[:length]))
    except ValueError:
        return
    assert read == list(read_fields(EXAMPLE))[: len(read)]
    assert len(read) < 4
