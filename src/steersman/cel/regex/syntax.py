"""Parses regular expressions as RE2 writes them, and rejects what RE2 rejects, with its messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from steersman.cel.errors import CelError
from steersman.cel.regex.characters import PERL, POSIX, folded, unicode_class
from steersman.cel.regex.tree import (
    LAST_CODE_POINT,
    Assertion,
    Characters,
    Choice,
    Place,
    Ranges,
    Repeat,
    Sequence,
    Tree,
    complement,
    merged,
)

_MOST_REPEATS: Final = 1000
_DEEPEST_NESTING: Final = 100
"""Upstream allows 1000 levels; nobody writes more than a few."""
_NEWLINE: Final = 0x0A
_ANY: Final[Ranges] = ((0, LAST_CODE_POINT),)
_NOT_NEWLINE: Final[Ranges] = ((0, _NEWLINE - 1), (_NEWLINE + 1, LAST_CODE_POINT))
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_GROUP_NAME: Final = re.compile(r"\(\?P?<([^>]*)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_CONTROL_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_PLACES: Final = {
    "A": Place.TEXT_START, "z": Place.TEXT_END, "b": Place.WORD_BOUNDARY, "B": Place.NO_WORD_BOUNDARY,
}  # fmt: skip
_POSIX_CLASS: Final = re.compile(r"\[:(\^?)([a-z]*):\]")


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    multi_line: bool = False
    dot_matches_newline: bool = False
    swap_greed: bool = False


def parse(pattern: str) -> Tree:
    """The tree of a pattern; raises `CelError` if it is none."""
    parser = _Parser(pattern)
    tree = parser.choice(0)
    if parser.position < len(pattern):
        parser.fail("unexpected )", pattern)
    return tree


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._flags = _Flags()
        self.position = 0

    def fail(self, code: str, part: str) -> NoReturn:
        raise CelError(f"error parsing regexp: {code}: `{part}`")

    def _rest(self) -> str:
        return self._pattern[self.position :]

    def _peek(self) -> str:
        return self._pattern[self.position : self.position + 1]

    def choice(self, depth: int) -> Tree:
        """Alternatives, up to the end of the group."""
        if depth > _DEEPEST_NESTING:
            self.fail("expression nests too deeply", self._pattern)
        options = [self._sequence(depth)]
        while self._peek() == "|":
            self.position += 1
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while (char := self._peek()) and char not in "|)":
            if char in "*+?" or _REPEAT.match(self._pattern, self.position):
                if not parts:
                    self.fail("missing argument to repetition operator", self._operator())
                # A change of flags stands in between.
                parts[-1] = self._repeated(parts[-1])
                continue
            atom = self._atom(depth)
            if atom is not None:
                parts.append(self._repeated(atom))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _operator(self) -> str:
        match = _REPEAT.match(self._pattern, self.position)
        text = match.group() if match else self._peek()
        lazy = self._pattern[self.position + len(text) : self.position + len(text) + 1] == "?"
        return text + ("?" if lazy else "")

    def _repeated(self, body: Tree) -> Tree:
        """The atom with the repetition behind it; two in a row are a mistake."""
        start = self.position
        bounds = self._bounds()
        if bounds is None:
            return body
        least, most = bounds
        greedy = True
        if self._peek() == "?":
            self.position += 1
            greedy = False
        first_end = self.position
        if self._bounds() is not None:
            if self._peek() == "?" and first_end != self.position:
                self.position += 1
            self.fail("invalid nested repetition operator", self._pattern[start : self.position])
        repeat = Repeat(body, least, most, greedy != self._flags.swap_greed)
        if _instances(repeat) > _MOST_REPEATS:
            self.fail("invalid repeat count", self._pattern[start:first_end])
        return repeat

    def _bounds(self) -> tuple[int, int | None] | None:
        char = self._peek()
        if char and char in "*+?":
            self.position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        match = _REPEAT.match(self._pattern, self.position)
        if match is None:
            return None
        self.position = match.end()
        least = int(match[1])
        most = least if match[2] is None else (None if match[3] is None else int(match[3]))
        if least > _MOST_REPEATS or (most is not None and (most > _MOST_REPEATS or most < least)):
            self.fail("invalid repeat count", match.group())
        return least, most

    def _atom(self, depth: int) -> Tree | None:
        """One item; None for what only changes flags or quotes nothing."""
        char = self._peek()
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return Characters(self._class())
            case "\\":
                return self._escape()
        self.position += 1
        match char:
            case ".":
                return Characters(_ANY if self._flags.dot_matches_newline else _NOT_NEWLINE)
            case "^":
                return Assertion(Place.LINE_START if self._flags.multi_line else Place.TEXT_START)
            case "$":
                return Assertion(Place.LINE_END if self._flags.multi_line else Place.TEXT_END)
        return self._literal(ord(char))

    def _literal(self, code: int) -> Characters:
        return Characters(((code, code),), self._flags.fold)

    def _group(self, depth: int) -> Tree | None:
        flags = self._flags
        if self._rest().startswith("(?"):
            if self._read_flags() == ")":
                return None
        else:
            self.position += 1
        body = self.choice(depth + 1)
        if self._peek() != ")":
            self.fail("missing closing )", self._pattern)
        self.position += 1
        self._flags = flags
        return body

    def _read_flags(self) -> str:
        """What stands behind `(?`; gives the `)` that ends a mere change of flags, or something else for a group."""
        if self._rest().startswith(("(?P<", "(?<")) and not self._rest().startswith(("(?<=", "(?<!")):
            self._read_name()
            return ">"
        match = _FLAGS.match(self._pattern, self.position)
        if match is None:
            self.fail("invalid or unsupported Perl syntax", self._bad_group())
        for names, value in ((match[1], True), (match[2] or "", False)):
            for name in names:
                self._set_flag(name, value)
        self.position = match.end()
        return match[3]

    def _bad_group(self) -> str:
        """The part of a group's opening up to the first character that makes it none."""
        rest = self._rest()
        if rest.startswith(("(?=", "(?!", "(?>", "(?#")):
            return rest[:3]
        if rest.startswith(("(?<=", "(?<!")):
            return rest[:4]
        end = 2
        while end < len(rest) and rest[end] in "imsU-":
            end += 1
        return rest[: end + 1]

    def _set_flag(self, name: str, value: bool) -> None:
        field = {"i": "fold", "m": "multi_line", "s": "dot_matches_newline", "U": "swap_greed"}[name]
        self._flags = replace(self._flags, **{field: value})

    def _read_name(self) -> None:
        match = _GROUP_NAME.match(self._pattern, self.position)
        if match is None:
            self.fail("invalid named capture", self._rest())
        if not re.fullmatch(r"[A-Za-z0-9_]+", match[1]):
            self.fail("invalid named capture", match.group())
        self.position = match.end()

    def _escape(self) -> Tree | None:
        following = self._pattern[self.position + 1 : self.position + 2]
        if following in _PLACES and following:
            self.position += 2
            return Assertion(_PLACES[following])
        if following == "Q":
            return self._quotation()
        named = self._named_class()
        if named is not None:
            return Characters(named)
        return self._literal(self._escaped_character())

    def _quotation(self) -> Tree | None:
        """`\\Q…\\E`: literal text."""
        start = self.position + 2
        end = self._pattern.find("\\E", start)
        text = self._pattern[start : end if end >= 0 else len(self._pattern)]
        self.position = end + 2 if end >= 0 else len(self._pattern)
        if not text:
            return None
        return Sequence(tuple(self._literal(ord(char)) for char in text))

    def _cased(self, ranges: Ranges) -> Ranges:
        """The set, with both cases of its letters if case does not matter; before anything is negated."""
        return folded(ranges) if self._flags.fold else ranges

    def _named_class(self) -> Ranges | None:
        """`\\d`, `\\pL`, `\\p{Lu}` and their complements."""
        letter = self._pattern[self.position + 1 : self.position + 2]
        if letter.lower() in PERL and letter:
            self.position += 2
            ranges = self._cased(PERL[letter.lower()])
            return complement(ranges) if letter.isupper() else ranges
        if letter not in ("p", "P"):
            return None
        return self._unicode_class(negated=letter == "P")

    def _unicode_class(self, *, negated: bool) -> Ranges:
        match = re.compile(r"\\[pP](?:\{(\^?)([^}]*)\}|(.))", re.DOTALL).match(self._pattern, self.position)
        if match is None:
            self.fail("invalid character class range", self._rest())
        ranges = unicode_class(match[2] if match[2] is not None else match[3])
        if ranges is None:
            self.fail("invalid character class range", match.group())
        self.position = match.end()
        ranges = self._cased(ranges)
        return complement(ranges) if negated != bool(match[1]) else ranges

    def _escaped_character(self) -> int:
        start = self.position
        self.position += 2
        char = self._pattern[start + 1 : start + 2]
        if not char:
            raise CelError("error parsing regexp: trailing backslash at end of expression: ``")
        if char in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[char]
        if char == "x":
            return self._hexadecimal(start)
        if "0" <= char <= "7":
            return self._octal(start, char)
        if not char.isascii() or char.isalnum():
            self.fail("invalid escape sequence", self._pattern[start : self.position])
        return ord(char)

    def _octal(self, start: int, first: str) -> int:
        """Up to three digits; one that is not 0 needs another, because a single one would be a back reference."""
        match = re.compile(r"[0-7]{0,2}").match(self._pattern, self.position)
        digits = match.group() if match else ""
        if first != "0" and not digits:
            self.fail("invalid escape sequence", self._pattern[start : self.position])
        self.position += len(digits)
        return int(first + digits, 8)

    def _hexadecimal(self, start: int) -> int:
        match = re.compile(r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})").match(self._pattern, self.position)
        if match is None:
            bad = re.compile(r"\{[0-9a-fA-F]*.?|.{0,2}", re.DOTALL).match(self._pattern, self.position)
            self.fail("invalid escape sequence", self._pattern[start : bad.end() if bad else None])
        self.position = match.end()
        code = int(match[1] or match[2], 16)
        if code > LAST_CODE_POINT:
            self.fail("invalid escape sequence", self._pattern[start : self.position])
        return code

    def _class(self) -> Ranges:
        """`[a-z]`."""
        start = self.position
        self.position += 1
        negated = self._peek() == "^"
        self.position += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            if not self._peek():
                self.fail("missing closing ]", self._pattern[start:])
            ranges.extend(self._class_item(start))
            first = False
        self.position += 1
        found = merged(ranges)
        return complement(found) if negated else found

    def _class_item(self, start: int) -> Ranges:
        posix = _POSIX_CLASS.match(self._pattern, self.position)
        if posix is not None:
            return self._posix_class(posix)
        if self._peek() == "\\":
            named = self._named_class()
            if named is not None:
                return named
        range_start = self.position
        low = high = self._class_character(start)
        if self._peek() == "-" and self._pattern[self.position + 1 : self.position + 2] not in ("", "]"):
            self.position += 1
            high = self._class_character(start)
        if high < low:
            self.fail("invalid character class range", self._pattern[range_start : self.position])
        return self._cased(((low, high),))

    def _posix_class(self, match: re.Match[str]) -> Ranges:
        if match[2] not in POSIX:
            self.fail("invalid character class range", match.group())
        self.position = match.end()
        ranges = self._cased(POSIX[match[2]])
        return complement(ranges) if match[1] else ranges

    def _class_character(self, start: int) -> int:
        if not self._peek():
            self.fail("missing closing ]", self._pattern[start:])
        if self._peek() == "\\":
            return self._escaped_character()
        self.position += 1
        return ord(self._pattern[self.position - 1])


def _instances(tree: Tree) -> int:
    """How often the innermost repeated part is repeated at most, by explicit counts."""
    match tree:
        case Repeat():
            times = tree.most if tree.most is not None else tree.least
            return max(times, 1) * _instances(tree.body)
        case Sequence():
            return max((_instances(part) for part in tree.parts), default=1)
        case Choice():
            return max(_instances(option) for option in tree.options)
    return 1
