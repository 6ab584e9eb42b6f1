"""Named sets of characters: `\\d`, `[:alpha:]`, `\\p{Lu}`."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from steersman.cel.regex.tree import LAST_CODE_POINT, Ranges, merged

_DIGIT: Final = ((0x30, 0x39),)
_WORD: Final = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_UPPER: Final = ((0x41, 0x5A),)
_LOWER: Final = ((0x61, 0x7A),)

PERL: Final[dict[str, Ranges]] = {"d": _DIGIT, "w": _WORD, "s": ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))}
"""By the letter behind the backslash; the capital is the complement."""

POSIX: Final[dict[str, Ranges]] = {
    "alnum": merged([*_DIGIT, *_UPPER, *_LOWER]),
    "alpha": merged([*_UPPER, *_LOWER]),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": _LOWER,
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_ASCII_CASES: Final = (
    *((code, code ^ 0x20) for low, high in (*_UPPER, *_LOWER) for code in range(low, high + 1)),
    *((ord(letter), other) for letter, other in (("k", 0x212A), ("K", 0x212A), ("s", 0x017F), ("S", 0x017F))),
)
"""Pairs; the Kelvin sign is a k, and the long s an s."""
_LAST_CASED: Final = 0x1E943
_CATEGORIES: Final = frozenset(
    {
        "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
        "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
    }
)  # fmt: skip
_SCRIPT_NAMES: Final = {
    "Arabic": "ARABIC ", "Armenian": "ARMENIAN ", "Cyrillic": "CYRILLIC ", "Devanagari": "DEVANAGARI ",
    "Georgian": "GEORGIAN ", "Greek": "GREEK ", "Hangul": "HANGUL ", "Han": "CJK UNIFIED IDEOGRAPH",
    "Hebrew": "HEBREW ", "Hiragana": "HIRAGANA ", "Katakana": "KATAKANA ", "Latin": "LATIN ", "Thai": "THAI ",
}  # fmt: skip
"""Scripts by how the names of their characters begin, which is what the standard library knows about scripts."""


def folded(ranges: Ranges) -> Ranges:
    """The set with the other cases of all of its characters."""
    cased = _ASCII_CASES if all(high < 0x80 for _, high in ranges) else _cases()
    found = [other for low, high in ranges for code, other in cased if low <= code <= high]
    return merged([*ranges, *((code, code) for code in found)])


@lru_cache(maxsize=1)
def _cases() -> tuple[tuple[int, int], ...]:
    """All pairs of characters that differ in case only."""
    pairs = set(_ASCII_CASES)
    for code in range(0x80, _LAST_CASED + 1):
        char = chr(code)
        for other in (char.lower(), char.upper()):
            if len(other) == 1 and other != char:
                pairs |= {(code, ord(other)), (ord(other), code)}
    return tuple(sorted(pairs))


@lru_cache(maxsize=64)
def unicode_class(name: str) -> Ranges | None:
    """A general category such as `L` or `Lu`, or one of the common scripts; None if the name is neither."""
    if name == "Any":
        return ((0, LAST_CODE_POINT),)
    if name in _CATEGORIES:
        return _collected(lambda char: unicodedata.category(char).startswith(name))
    if name in _SCRIPT_NAMES:
        prefix = _SCRIPT_NAMES[name]
        return _collected(lambda char: unicodedata.name(char, "").startswith(prefix))
    return None


def _collected(belongs: Callable[[str], bool]) -> Ranges:
    return merged([(code, code) for code in range(sys.maxunicode + 1) if belongs(chr(code))])
