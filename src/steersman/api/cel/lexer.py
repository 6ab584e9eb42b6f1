# SPDX-License-Identifier: Apache-2.0
"""Lexer. Unrecognised characters are reported and skipped, as upstream."""

from __future__ import annotations

import enum
import re
from typing import Final, NamedTuple

from steersman.api.cel.errors import Issue


class TokenKind(enum.Enum):
    """Kinds of tokens; punctuation and keywords are distinguished by text."""

    BYTES = "BYTES"
    DOUBLE = "NUM_FLOAT"
    END = "<EOF>"
    ESCAPED_IDENT = "ESC_IDENTIFIER"
    IDENT = "IDENTIFIER"
    INT = "NUM_INT"
    KEYWORD = "keyword"
    PUNCTUATION = "punctuation"
    STRING = "STRING"
    UINT = "NUM_UINT"


class Token(NamedTuple):
    """Token of the expression."""

    kind: TokenKind
    text: str
    offset: int


_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""|'
    rf"'''(?:{_ESCAPE}|[^\\])*?'''|"
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*"|'
    rf"'(?:{_ESCAPE}|[^\\'\n\r])*'|"
    r'[rR]"""(?:.|\n)*?"""|'
    r"[rR]'''(?:.|\n)*?'''|"
    r'[rR]"[^"\n\r]*"|'
    r"[rR]'[^'\n\r]*'"
)
_TOKEN: Final = re.compile(
    r"(?P<hidden>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<DOUBLE>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESCAPED_IDENT>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<IDENT>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<PUNCTUATION>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_BROKEN_STRING: Final = re.compile(rf"""[rRbB]{{0,2}}(?:"(?:{_ESCAPE}|[^\\"\n\r])*\\?|'(?:{_ESCAPE}|[^\\'\n\r])*\\?)""")
_HALF_OPERATORS: Final = "=&|"


def tokens(source: str) -> tuple[list[Token], list[Issue]]:
    """Return the tokens of an expression, terminated by END, and lexical errors."""
    found: list[Token] = []
    issues: list[Issue] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            end = _end_of_garbage(source, position)
            issues.append(Issue(position, f"Syntax error: token recognition error at: '{source[position:end]}'"))
            position = end
            continue
        if match.lastgroup is not None and match.lastgroup != "hidden":
            found.append(_token(TokenKind[match.lastgroup], match.group(), position))
        position = match.end()
    found.append(Token(TokenKind.END, "<EOF>", len(source)))
    return found, issues


def _token(kind: TokenKind, text: str, offset: int) -> Token:
    if kind is TokenKind.IDENT and text in _KEYWORDS:
        kind = TokenKind.KEYWORD
    return Token(kind, text, offset)


def _end_of_garbage(source: str, position: int) -> int:
    """Return where the lexer resumes: after an unterminated string, half an operator and the next
    character, or one character."""
    broken = _BROKEN_STRING.match(source, position)
    if broken is not None:
        ended = broken.group().endswith("\\") or broken.end() < len(source)
        return min(len(source), broken.end() + 1) if ended else broken.end()
    return min(len(source), position + (2 if source[position] in _HALF_OPERATORS else 1))
