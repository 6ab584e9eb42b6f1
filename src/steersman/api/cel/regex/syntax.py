# SPDX-License-Identifier: Apache-2.0
"""Parser of Go's regular expressions: rejects invalid ones with Go's messages, and estimates
program size.

It outputs the same expression for RE2. The dialects differ only in details: here, group names may
repeat, and `\\p` knows more names. An explicit stack of groups avoids recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

from steersman.api.cel.errors import CelError
from steersman.api.cel.regex.unicode_names import UnicodeClass, unicode_class

_MAX_REPEATS: Final = 1000
_DEEPEST_NESTING: Final = 1000
_LAST_CODE_POINT: Final = 0x10FFFF
_MAX_COUNT: Final = 9
"""Maximum digits of a count; longer ones are out of range."""
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_GROUP_NAME: Final = re.compile(r"\(\?P?<([^>]*)>")
_VALID_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_FLAGS: Final = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?([:)])")
_CONTROL_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL: Final = re.compile(r"[0-7]{0,2}")
_HEXADECIMAL: Final = re.compile(r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})")
_BROKEN_HEXADECIMAL: Final = re.compile(r"\{[0-9a-fA-F]*.?|.{0,2}", re.DOTALL)
_UNICODE_CLASS: Final = re.compile(r"\\[pP](?:\{(\^?)([^}]*)\}|(.))", re.DOTALL)
_POSIX_CLASS: Final = re.compile(r"\[:\^?([a-z]*):\]")
_POSIX_NAMES: Final = frozenset(
    {
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
        "xdigit",
    }
)  # fmt: skip
_UNIT: Final = 1
_WIDE: Final = 8
"""Approximate program size of a character set beyond ASCII in RE2."""
_UNICODE: Final = 600
"""Approximate maximum program size of a Unicode class in RE2."""


class CheckedPattern(NamedTuple):
    """Valid pattern."""

    #: The pattern for RE2.
    pattern: str
    #: Approximate number of instructions with repetitions expanded.
    size: int


class _Operand(NamedTuple):
    """Repeatable part of a pattern."""

    size: int
    #: Maximum product of nested explicit repeat counts.
    instances: int = 1


@dataclass(slots=True)
class _Group:
    """Open group up to the current position."""

    is_capture: bool
    size: int = 0
    instances: int = 1
    #: Operand of a following repetition; None at the start of an alternative.
    last: _Operand | None = None

    def add(self, operand: _Operand) -> None:
        self._keep_last()
        self.last = operand

    def end_alternative(self) -> None:
        self._keep_last()
        self.size += 1

    def closed(self) -> _Operand:
        self._keep_last()
        return _Operand(self.size + 1, self.instances)

    def _keep_last(self) -> None:
        if self.last is not None:
            self.size += self.last.size
            self.instances = max(self.instances, self.last.instances)
            self.last = None


def check(pattern: str) -> CheckedPattern:
    """Return the pattern for RE2 and its size. Raise `CelError` with upstream's message."""
    return _PatternParser(pattern).run()


class _PatternParser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._groups = [_Group(is_capture=False)]
        self._captures = 0
        self._written: list[str] = []

    def run(self) -> CheckedPattern:
        while self._position < len(self._pattern):
            self._item()
        if len(self._groups) > 1:
            self._fail("missing closing )", self._pattern)
        return CheckedPattern("".join(self._written), self._groups[0].closed().size)

    def _fail(self, code: str, part: str) -> NoReturn:
        raise CelError(f"error parsing regexp: {code}: `{part}`")

    def _peek(self, offset: int = 0) -> str:
        return self._pattern[self._position + offset : self._position + offset + 1]

    def _starts(self, *beginnings: str) -> bool:
        return self._pattern.startswith(beginnings, self._position)

    def _take(self, end: int) -> str:
        text = self._pattern[self._position : end]
        self._position = end
        return text

    def _copy(self, end: int) -> None:
        self._written.append(self._take(end))

    def _add(self, size: int) -> None:
        self._groups[-1].add(_Operand(size))

    def _item(self) -> None:
        match self._peek():
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._groups[-1].end_alternative()
                self._copy(self._position + 1)
            case "[":
                self._class()
            case "\\":
                self._escape()
            case char if char in "*+?" or _REPEAT.match(self._pattern, self._position):
                self._repetition()
            case char:
                self._add(_WIDE if char == "." else _UNIT)
                self._copy(self._position + 1)

    # -- groups ------------------------------------------------------------------------------------

    def _open(self) -> None:
        is_capture = True
        if self._starts("(?P<", "(?<") and not self._starts("(?<=", "(?<!"):
            self._read_name()
        elif self._starts("(?"):
            flags = _FLAGS.match(self._pattern, self._position)
            if flags is None:
                self._fail("invalid or unsupported Perl syntax", self._bad_group())
            self._copy(flags.end())
            if flags[1] == ")":
                return
            is_capture = False
        else:
            self._position += 1
        if is_capture:
            self._captures += 1
            self._written.append("(?:")
        if self._captures >= _DEEPEST_NESTING:
            self._fail("expression nests too deeply", self._pattern)
        self._groups.append(_Group(is_capture))

    def _close(self) -> None:
        if len(self._groups) == 1:
            self._fail("unexpected )", self._pattern)
        group = self._groups.pop()
        self._captures -= group.is_capture
        self._groups[-1].add(group.closed())
        self._copy(self._position + 1)

    def _read_name(self) -> None:
        match = _GROUP_NAME.match(self._pattern, self._position)
        if match is None:
            self._fail("invalid named capture", self._pattern[self._position :])
        if not _VALID_NAME.fullmatch(match[1]):
            self._fail("invalid named capture", match.group())
        self._position = match.end()

    def _bad_group(self) -> str:
        """Return the invalid group opening up to the first invalid character."""
        start = self._position
        if self._starts("(?=", "(?!", "(?>", "(?#"):
            return self._pattern[start : start + 3]
        if self._starts("(?<=", "(?<!"):
            return self._pattern[start : start + 4]
        end = start + 2
        while end < len(self._pattern) and self._pattern[end] in "imsU-":
            end += 1
        return self._pattern[start : end + 1]

    # -- repetitions -------------------------------------------------------------------------------

    def _repetition(self) -> None:
        """Parse a repetition operator; two in a row are an error."""
        group, start = self._groups[-1], self._position
        bounds = self._bounds()
        assert bounds is not None
        self._position += self._peek() == "?"
        first_end = self._position
        if group.last is None:
            self._fail("missing argument to repetition operator", self._pattern[start:first_end])
        least, most = bounds
        times = max(least if most is None else most, 1)
        repeated = _Operand((group.last.size + 1) * (times + (most is None)), group.last.instances * times)
        if repeated.instances > _MAX_REPEATS:
            self._fail("invalid repeat count", self._pattern[start:first_end])
        if self._bounds() is not None:
            self._position += self._peek() == "?"
            self._fail("invalid nested repetition operator", self._pattern[start : self._position])
        group.last = repeated
        self._position = start
        self._copy(first_end)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Consume a repetition operator and return its bounds, or None."""
        char = self._peek()
        if char and char in "*+?":
            self._position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        match = _REPEAT.match(self._pattern, self._position)
        if match is None:
            return None
        self._position = match.end()
        return self._counts(match)

    def _counts(self, match: re.Match[str]) -> tuple[int, int | None]:
        if max(len(match[1]), len(match[3] or "")) > _MAX_COUNT:
            self._fail("invalid repeat count", match.group())
        least = int(match[1])
        most = least if match[2] is None else (None if match[3] is None else int(match[3]))
        if least > _MAX_REPEATS or (most is not None and (most > _MAX_REPEATS or most < least)):
            self._fail("invalid repeat count", match.group())
        return least, most

    # -- escapes -----------------------------------------------------------------------------------

    def _escape(self) -> None:
        letter = self._peek(1)
        if letter == "Q":
            self._quotation()
        elif letter in ("p", "P"):
            class_ = self._unicode_class()
            self._written.append(f"[{'^' * class_.is_complement}{class_.members}]")
            self._add(_UNICODE)
        elif letter and letter in "AzbB":
            self._add(_UNIT)
            self._copy(self._position + 2)
        elif letter and letter in "dDsSwW":
            self._add(_WIDE if letter.isupper() else _UNIT)
            self._copy(self._position + 2)
        else:
            start = self._position
            self._escaped_character()
            self._written.append(self._pattern[start : self._position])
            self._add(_UNIT)

    def _quotation(self) -> None:
        """Parse `\\Q…\\E`: literal text, of which only the last character is repeated."""
        start = self._position + 2
        end = self._pattern.find("\\E", start)
        text = self._pattern[start : end if end >= 0 else len(self._pattern)]
        self._position = end + 2 if end >= 0 else len(self._pattern)
        for char in text:
            self._add(_UNIT)
            self._written.append(char if char.isalnum() or not char.isascii() else f"\\x{ord(char):02x}")

    def _escaped_character(self) -> int:
        start = self._position
        self._position += 2
        if self._position > len(self._pattern):
            self._fail("trailing backslash at end of expression", "")
        char = self._pattern[self._position - 1]
        if char in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[char]
        if char == "x":
            return self._hexadecimal(start)
        if "0" <= char <= "7":
            return self._octal(start, char)
        if not char.isascii() or char.isalnum():
            self._fail("invalid escape sequence", self._pattern[start : self._position])
        return ord(char)

    def _octal(self, start: int, first: str) -> int:
        """Parse up to three octal digits; a single one other than 0 would be a back reference."""
        match = _OCTAL.match(self._pattern, self._position)
        digits = match.group() if match else ""
        if first != "0" and not digits:
            self._fail("invalid escape sequence", self._pattern[start : self._position])
        self._position += len(digits)
        return int(first + digits, 8)

    def _hexadecimal(self, start: int) -> int:
        match = _HEXADECIMAL.match(self._pattern, self._position)
        if match is None:
            bad = _BROKEN_HEXADECIMAL.match(self._pattern, self._position)
            self._fail("invalid escape sequence", self._pattern[start : bad.end() if bad else None])
        self._position = match.end()
        code = int(match[1] or match[2], 16)
        if code > _LAST_CODE_POINT:
            self._fail("invalid escape sequence", self._pattern[start : self._position - 1])
        return code

    def _unicode_class(self) -> UnicodeClass:
        """Parse `\\pL`, `\\p{Greek}` or `\\P{^Greek}`."""
        match = _UNICODE_CLASS.match(self._pattern, self._position)
        if match is None:
            self._fail("invalid character class range", self._pattern[self._position :])
        class_ = unicode_class(match[2] if match[2] is not None else match[3])
        if class_ is None:
            self._fail("invalid character class range", match.group())
        negated = (self._peek(1) == "P") != bool(match[1])
        self._position = match.end()
        return UnicodeClass(class_.members, class_.is_complement != negated)

    # -- classes -----------------------------------------------------------------------------------

    def _class(self) -> None:
        """Parse a character class such as `[a-z]`."""
        start = self._position
        is_negated = self._peek(1) == "^"
        self._copy(start + 1 + is_negated)
        size = _WIDE if is_negated else _UNIT
        first = True
        while first or self._peek() != "]":
            if not self._peek():
                self._fail("missing closing ]", self._pattern[start:])
            size = max(size, self._class_item(start))
            first = False
        self._copy(self._position + 1)
        self._add(size)

    def _class_item(self, start: int) -> int:
        """Parse a member, range or named class; return its size."""
        posix = _POSIX_CLASS.match(self._pattern, self._position)
        if posix is not None:
            if posix[1] not in _POSIX_NAMES:
                self._fail("invalid character class range", posix.group())
            self._copy(posix.end())
            return _WIDE
        letter = self._peek(1) if self._peek() == "\\" else ""
        if letter and letter in "dDsSwW":
            self._copy(self._position + 2)
            return _WIDE
        if letter in ("p", "P"):
            return self._embedded_class()
        self._range(start)
        return _UNIT

    def _embedded_class(self) -> int:
        """Parse a Unicode class inside brackets."""
        start = self._position
        class_ = self._unicode_class()
        if class_.is_complement and not re.fullmatch(r"\\p\{\w+\}", class_.members):
            text = self._pattern[start : self._position]
            raise CelError(f"regular expression: {text} inside of brackets is not supported by Steersman")
        self._written.append(class_.members.replace("\\p", "\\P") if class_.is_complement else class_.members)
        return _UNICODE

    def _range(self, class_start: int) -> None:
        start = self._position
        low = high = self._class_character(class_start)
        if self._peek() == "-" and self._peek(1) not in ("", "]"):
            self._position += 1
            high = self._class_character(class_start)
        if high < low:
            self._fail("invalid character class range", self._pattern[start : self._position])
        self._written.append(self._pattern[start : self._position])

    def _class_character(self, class_start: int) -> int:
        if not self._peek():
            self._fail("missing closing ]", self._pattern[class_start:])
        if self._peek() == "\\":
            return self._escaped_character()
        self._position += 1
        return ord(self._pattern[self._position - 1])
