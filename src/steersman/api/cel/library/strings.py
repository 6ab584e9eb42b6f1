# SPDX-License-Identifier: Apache-2.0
"""String functions: `charAt`, `indexOf`, `replace`, `split`, `substring`, `trim`, `join`,
`strings.quote`.

Positions count characters, as in Python; differences of upstream are implemented.
"""

from __future__ import annotations

from typing import Final

from steersman.api.cel.errors import CelError
from steersman.api.cel.meter import require_room, spend
from steersman.api.cel.value_text import shown
from steersman.api.cel.values import Value
from steersman.api.go_text import ESCAPES

_WHITESPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_QUOTED: Final = str.maketrans(ESCAPES)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return _rfind(text, part) if part else len(text)


def _last_index_of_before(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return _rfind(text[: offset + len(part)], part)


def _rfind(text: str, part: str) -> int:
    """Return the last position of a substring. `str.rfind` takes time proportional to the product
    of both lengths, `find` does not."""
    found = text[::-1].find(part[::-1])
    return -1 if found < 0 else len(text) - found - len(part)


def _lower(text: str) -> str:
    return text.encode().lower().decode()  # for bytes, `lower` changes only ASCII


def _upper(text: str) -> str:
    return text.encode().upper().decode()


def _replace(text: str, old: str, new: str) -> str:
    return _replace_some(text, old, new, -1)


def _replace_some(text: str, old: str, new: str, count: int) -> str:
    found = text.count(old)
    times = found if count < 0 else min(found, count)
    require_room("text", len(text) + times * (len(new) - len(old)), "characters")
    return text.replace(old, new, times)


def _split(text: str, separator: str) -> list[Value]:
    require_room("list", text.count(separator) + 1 if separator else len(text), "elements")
    return list(text.split(separator)) if separator else list(text)


def _split_some(text: str, separator: str, count: int) -> list[Value]:
    if count == 0:
        return []
    if count < 0:
        return _split(text, separator)
    require_room("list", min(count, len(text) + 1), "elements")
    if separator:
        return list(text.split(separator, count - 1))
    head = list(text[: count - 1])
    return [*head, text[count - 1 :]] if len(text) > count - 1 else list(head)


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_WHITESPACE)


def _join(elements: list[Value], separator: str = "") -> str:
    for element in elements:
        if not isinstance(element, str):
            raise CelError(f"join: invalid input: {shown(element)}")
    texts = [str(element) for element in elements]
    require_room("text", sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0), "characters")
    return separator.join(texts)


def _quote(text: str) -> str:
    spend(len(text))
    return f'"{text.translate(_QUOTED)}"'
