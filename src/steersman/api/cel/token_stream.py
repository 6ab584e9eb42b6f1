# SPDX-License-Identifier: Apache-2.0
"""Token stream of the parser: consuming and expecting tokens, and syntax errors.

Messages are those of upstream's generated parser. It recovers if removing or adding one token makes
the rest valid; otherwise parsing stops.
"""

from __future__ import annotations

from typing import Final, NoReturn

from steersman.api.cel.errors import Issue
from steersman.api.cel.lexer import Token, TokenKind

CONSTANTS: Final = {"true": True, "false": False, "null": None}

_STARTS: Final = frozenset("[{(.-!") | CONSTANTS.keys()
_NUMBERS: Final = frozenset({TokenKind.INT, TokenKind.DOUBLE})
_FOLLOWERS: Final = frozenset({"&&", "||", "==", "!=", "<", "<=", ">", ">=", "in", "+", "*", "/", "%", "?"})
"""Tokens that may follow a complete operand anywhere."""
_EXPECTATION_ORDER: Final = (
    "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "':'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
)  # fmt: skip
_START_EXPECTATIONS: Final = frozenset(_EXPECTATION_ORDER) - {"']'", "'}'", "')'", "','", "'?'", "':'"}


class ParsingStopped(Exception):
    """Parsing cannot continue; the issue is recorded."""


class TokenStream:
    """Tokens with a current position."""

    def __init__(self, source: str, tokens: list[Token], issues: list[Issue]) -> None:
        self.issues = issues
        self._source = source
        self._tokens = tokens
        self._position = 0
        #: Number of open brackets at the current token.
        self._open = 0

    @property
    def current(self) -> Token:
        """Next token."""
        return self._tokens[self._position]

    def ahead(self, count: int) -> Token:
        """Return the token `count` places after the current one."""
        return self._tokens[min(self._position + count, len(self._tokens) - 1)]

    def take(self, count: int = 1) -> Token:
        """Consume `count` tokens and return the first."""
        token = self.current
        for _ in range(count):
            self._open += _bracketing(self.current)
            self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def is_at(self, *texts: str) -> bool:
        """Return whether the current token is one of these operators, brackets or keywords."""
        return _is_one_of(self.current, texts)

    def accept(self, text: str) -> Token | None:
        """Consume the current token if it has this text, else return None."""
        return self.take() if self.is_at(text) else None

    def expect(self, text: str) -> Token:
        """Consume the current token, which must have this text."""
        if self.is_at(text):
            return self.take()
        token = self.current
        if _is_one_of(self.ahead(1), (text,)):
            self._record(f"extraneous input '{token.text}' expecting '{text}'")
            self.take()
            return self.take()
        if not self._could_follow(text):
            self.stop(f"mismatched input '{token.text}' expecting '{text}'")
        self._record(f"missing '{text}' at '{token.text}'")
        if text == ":":
            return token
        raise ParsingStopped

    def expect_end(self) -> None:
        """Require the end of the expression."""
        token = self.current
        if token.kind is TokenKind.END:
            return
        if self.ahead(1).kind is TokenKind.END:
            self.stop(f"extraneous input '{token.text}' expecting <EOF>")
        self.stop(f"mismatched input '{token.text}' expecting <EOF>")

    def require_start(self, *alternatives: str) -> None:
        """Require a token that starts an expression; skip one other token before it."""
        if self.starts(self.current):
            return
        expected = _START_EXPECTATIONS | {f"'{text}'" for text in alternatives}
        shown = ", ".join(text for text in _EXPECTATION_ORDER if text in expected)
        if not self.starts(self.ahead(1)) and not _is_one_of(self.ahead(1), alternatives):
            self.stop(f"mismatched input '{self.current.text}' expecting {{{shown}}}")
        self._record(f"extraneous input '{self.current.text}' expecting {{{shown}}}")
        self.take()
        if not self.starts(self.current):
            raise ParsingStopped

    def require_operand(self, operator: Token) -> None:
        """Require an operand, such as a negative number but no operator, after `!` or `-`."""
        if operator.text == "-" and (self.is_at("!") or not self.starts(self.current)):
            self._record(f"no viable alternative at input '{self._text_from(operator)}'")
            self.require_start()
            raise ParsingStopped
        if self.is_at("-") and self.ahead(1).kind not in _NUMBERS:
            self.no_alternative(self.take())
        if self.starts(self.current):
            return
        expected = ", ".join(text for text in _EXPECTATION_ORDER if text in _START_EXPECTATIONS)
        self.stop(f"extraneous input '{self.current.text}' expecting {{{expected}}}")

    def require_separator(self, closing: str) -> None:
        """Require a comma or the closing bracket after an element."""
        if self.is_at(closing, ","):
            return
        expected = f"{{'{closing}', ','}}"
        if not _is_one_of(self.ahead(1), (closing, ",")):
            self.stop(f"mismatched input '{self.current.text}' expecting {expected}")
        self._record(f"extraneous input '{self.current.text}' expecting {expected}")
        self.take()

    def starts(self, token: Token) -> bool:
        """Return whether the token can start an expression."""
        if token.kind is TokenKind.PUNCTUATION or token.kind is TokenKind.KEYWORD:
            return token.text in _STARTS
        return token.kind is not TokenKind.END and token.kind is not TokenKind.ESCAPED_IDENT

    def no_alternative(self, first: Token) -> NoReturn:
        """Report that no alternative starting at `first` continues with the current token."""
        if self.current.text in CONSTANTS:
            self.stop(f"mismatched input '{self.current.text}' expecting IDENTIFIER")
        self.stop(f"no viable alternative at input '{self._text_from(first)}'")

    def report(self, offset: int, message: str) -> None:
        """Record an error that is not a syntax error."""
        self.issues.append(Issue(offset, message))

    def stop(self, message: str) -> NoReturn:
        """Record a syntax error at the current token and stop parsing."""
        self._record(message)
        raise ParsingStopped

    def _record(self, message: str) -> None:
        self.report(self.current.offset, f"Syntax error: {message}")

    def _could_follow(self, text: str) -> bool:
        """Return whether the current token can follow the missing one."""
        if text == ":":
            return self.starts(self.current)
        if self.current.kind is TokenKind.END:
            return self._open == 1
        return _is_one_of(self.current, _FOLLOWERS)

    def _text_from(self, first: Token) -> str:
        end = self.current.offset + (0 if self.current.kind is TokenKind.END else len(self.current.text))
        return self._source[first.offset : end].rstrip()


def _is_one_of(token: Token, texts: tuple[str, ...] | frozenset[str]) -> bool:
    return token.text in texts and (token.kind is TokenKind.PUNCTUATION or token.kind is TokenKind.KEYWORD)


def _bracketing(token: Token) -> int:
    if token.kind is not TokenKind.PUNCTUATION:
        return 0
    return (token.text in "([{") - (token.text in ")]}")
