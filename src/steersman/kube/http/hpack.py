# SPDX-License-Identifier: Apache-2.0
"""Stateless HPACK (RFC 7541): header blocks of HTTP/2 without a dynamic table.

`http2` announces SETTINGS_HEADER_TABLE_SIZE = 0 and uses no dynamic table itself, so that each
block can be decoded alone and lazily: of a granted binding, only the status is read. Malformed
blocks are a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

#: Entries of the static table that are a whole header.
_STATIC_VALUES: Final = {
    2: "GET",
    3: "POST",
    4: "/",
    5: "/index.html",
    6: "http",
    7: "https",
    8: "200",
    9: "204",
    10: "206",
    11: "304",
    12: "400",
    13: "404",
    14: "500",
    16: "gzip, deflate",
}
_STATIC_NAMES: Final = (
    "",
    *(":authority", ":method", ":method", ":path", ":path", ":scheme", ":scheme"),
    *(":status",) * 7,
    *("accept-charset", "accept-encoding", "accept-language", "accept-ranges", "accept"),
    *("access-control-allow-origin", "age", "allow", "authorization", "cache-control", "content-disposition"),
    *("content-encoding", "content-language", "content-length", "content-location", "content-range", "content-type"),
    *("cookie", "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match"),
    *("if-range", "if-unmodified-since", "last-modified", "link", "location", "max-forwards", "proxy-authenticate"),
    *("proxy-authorization", "range", "referer", "refresh", "retry-after", "server", "set-cookie"),
    *("strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate"),
)
_INDEX_OF_NAME: Final = {name: index for index, name in reversed(list(enumerate(_STATIC_NAMES)))}
_INDEX_OF_FIELD: Final = {(_STATIC_NAMES[index], value): index for index, value in _STATIC_VALUES.items()}
_SECRET: Final = "authorization"
_LONG_TEXT: Final = 127
"""Texts of at least this length need more than one length byte."""
_PATH_START: Final = [bytes((_INDEX_OF_NAME[":path"], length)) for length in range(_LONG_TEXT)]
"""The bytes before a path by its length: the name, not indexed, and the length."""

_STATUS: Final = ":status"
_SHORT_STATUSES: Final = frozenset(bytes((index, 0x80 | 2)) for index in range(8, 15))
"""Two-byte Huffman-coded statuses without indexing. Seven static table entries have the name;
kube-apiserver uses the last one."""
_STATUS_BY_START: Final[dict[bytes, int]] = {}
"""First four bytes of a short status → status."""
_MAX_INTEGER_BYTES: Final = 4
"""Maximum number of bytes after the first one of an integer, enough for any length in a block."""

# fmt: off
_CODE_LENGTHS: Final = bytes((
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
))
# fmt: on
"""Bits of the Huffman code of each byte. The code is canonical: ordered by length, then by byte."""
_MAX_CODE_BITS: Final = 30


# -- requests ----------------------------------------------------------------------------------------------------------


def encode_field(name: str, value: str) -> bytes:
    """Encode a header without indexing; credentials as never indexed, also for proxies."""
    known = _INDEX_OF_FIELD.get((name, value))
    if known is not None:
        return bytes((0x80 | known,))
    first = 0x10 if name == _SECRET else 0x00
    index = _INDEX_OF_NAME.get(name)
    start = bytes((first,)) + _encode_text(name) if index is None else _encode_integer(index, 4, first)
    return start + _encode_text(value)


def path_field(path: str) -> bytes:
    """Encode the path header like `encode_field`, but faster."""
    data = path.encode()
    if len(data) < _LONG_TEXT:
        return _PATH_START[len(data)] + data
    return encode_field(":path", path)


def _encode_text(text: str) -> bytes:
    data = text.encode()
    return _encode_integer(len(data), 7, 0) + data


def _encode_integer(number: int, bits: int, first: int) -> bytes:
    """Encode an integer into the lower bits of a byte, and further bytes if needed."""
    most = (1 << bits) - 1
    if number < most:
        return bytes((first | number,))
    further, rest = bytearray((first | most,)), number - most
    while rest >= 0x80:
        further.append(0x80 | (rest & 0x7F))
        rest >>= 7
    further.append(rest)
    return bytes(further)


# -- answers -----------------------------------------------------------------------------------------------------------


def read_status(block: bytes) -> int:
    """Return the status of a response, its first header. Raise ValueError if it is invalid.

    Go's servers Huffman-code statuses without a static table entry in two bytes. These encodings
    are cached; their number is limited by that of statuses and entries.
    """
    known = _STATUS_BY_START.get(block[:4])
    if known is None:
        known = _read_status(block)
        if block[:2] in _SHORT_STATUSES:
            _STATUS_BY_START[block[:4]] = known
    return known


def _read_status(block: bytes) -> int:
    for name, value in read_fields(block):
        if name == _STATUS and len(value) == 3 and value.isascii() and value.isdecimal():
            return int(value)
        break
    raise ValueError("the answer does not begin with its status")


def read_header(block: bytes, wanted: str) -> str | None:
    """Return the last header with this lower-case name. Raise ValueError for a malformed block."""
    found = None
    for name, value in read_fields(block):
        if name == wanted:
            found = value
    return found


def read_fields(block: bytes) -> Iterator[tuple[str, str]]:
    """Yield names and values in order. Raise ValueError at a malformed one."""
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _read_integer(block, at, 7)
            if index not in _STATIC_VALUES:
                yield _static_name(index), ""
            else:
                yield _STATIC_NAMES[index], _STATIC_VALUES[index]
        elif first & 0xE0 == 0x20:  # table size update: ignored without a dynamic table
            size, at = _read_integer(block, at, 5)
            if size:
                raise ValueError(f"the server uses a header table of {size} bytes, which the client does not allow")
        else:
            index, at = _read_integer(block, at, 6 if first & 0x40 else 4)
            name, at = (_static_name(index), at) if index else _read_text(block, at)
            value, at = _read_text(block, at)
            yield name, value


def _static_name(index: int) -> str:
    if not 0 < index < len(_STATIC_NAMES):
        raise ValueError(f"there is no header {index}: nothing is remembered")
    return _STATIC_NAMES[index]


def _read_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return an integer that starts in the lower bits of a byte, and the position after it."""
    most = (1 << bits) - 1
    number = block[at] & most
    at += 1
    if number < most:
        return number, at
    for shift in range(0, 7 * _MAX_INTEGER_BYTES, 7):
        if at >= len(block):
            break
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError("a number in the head of the answer does not end")


def _read_text(block: bytes, at: int) -> tuple[str, int]:
    if at >= len(block):
        raise ValueError("the head of the answer is cut off")
    is_huffman = block[at] & 0x80
    length, at = _read_integer(block, at, 7)
    data = block[at : at + length]
    if len(data) != length:
        raise ValueError("the head of the answer is cut off")
    return (_huffman_decoded(data) if is_huffman else data).decode("latin-1"), at + length


def _canonical_codes() -> dict[int, int]:
    """Return the bytes by their code, prefixed by a 1 bit so that the length counts."""
    codes, code, length = {}, 0, 0
    for symbol in sorted(range(256), key=lambda byte: (_CODE_LENGTHS[byte], byte)):
        code <<= _CODE_LENGTHS[symbol] - length
        length = _CODE_LENGTHS[symbol]
        codes[1 << length | code] = symbol
        code += 1
    return codes


_BYTES_BY_CODE: Final = _canonical_codes()


def _huffman_decoded(data: bytes) -> bytes:
    decoded, code = bytearray(), 1
    for byte in data:
        for shift in range(7, -1, -1):
            code = code << 1 | (byte >> shift & 1)
            symbol = _BYTES_BY_CODE.get(code)
            if symbol is not None:
                decoded.append(symbol)
                code = 1
            elif code >> _MAX_CODE_BITS:
                raise ValueError("a code in the head of the answer stands for nothing")
    # The padding of the last byte: fewer than eight ones.
    if code.bit_length() > 8 or code + 1 != 1 << code.bit_length():
        raise ValueError("a text in the head of the answer does not end")
    return bytes(decoded)
