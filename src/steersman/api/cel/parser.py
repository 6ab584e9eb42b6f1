# SPDX-License-Identifier: Apache-2.0
"""Parser: recursive descent with operator precedence, expanding macros.

`token_stream` reports syntax errors. Parsing stops at the first unrecoverable one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, NoReturn

from steersman.api.cel import ast
from steersman.api.cel.ast import AstNode
from steersman.api.cel.errors import Issue
from steersman.api.cel.lexer import Token, TokenKind, tokens
from steersman.api.cel.literals import (
    LiteralError,
    bytes_value,
    double_value,
    int_value,
    string_value,
    uint_value,
)
from steersman.api.cel.macros import MacroError, expand
from steersman.api.cel.nodes import AstBuilder
from steersman.api.cel.token_stream import CONSTANTS, ParsingStopped, TokenStream
from steersman.api.cel.values import Value

DEEPEST_NESTING: Final = 250
MAX_EXPRESSION: Final = 100_000
"""Maximum characters; the API server allows far fewer."""

TOO_DEEP: Final = f"expression recursion limit exceeded: {DEEPEST_NESTING}"
_CHAIN_TOO_LONG: Final = "max recursion depth exceeded"
_RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
        "package", "namespace", "null", "return", "true", "var", "void", "while",
    }
)  # fmt: skip
_PRECEDENCE: Final = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_MAX_CHAINS: Final = {
    1: MAX_EXPRESSION, 2: MAX_EXPRESSION, 3: DEEPEST_NESTING, 4: DEEPEST_NESTING - 1, 5: DEEPEST_NESTING - 1,
}  # fmt: skip
"""Maximum number of consecutive operators by precedence; arithmetic is inside a comparison."""
_OPERATORS: Final = {
    "||": ast.OR, "&&": ast.AND, "<": ast.LESS, "<=": ast.LESS_EQUALS, ">": ast.GREATER, ">=": ast.GREATER_EQUALS,
    "==": ast.EQUALS, "!=": ast.NOT_EQUALS, "in": ast.IN, "+": ast.ADD, "-": ast.SUBTRACT, "*": ast.MULTIPLY,
    "/": ast.DIVIDE, "%": ast.MODULO, "!": ast.NOT,
}  # fmt: skip
_LITERALS: Final[dict[TokenKind, Callable[[str], Value]]] = {
    TokenKind.INT: int_value,
    TokenKind.UINT: uint_value,
    TokenKind.DOUBLE: double_value,
    TokenKind.STRING: string_value,
    TokenKind.BYTES: bytes_value,
}


class Parsed(NamedTuple):
    """Result of parsing: a tree, or issues."""

    root: AstNode | None
    issues: list[Issue]


def parse(source: str) -> Parsed:
    """Parse an expression."""
    if len(source) > MAX_EXPRESSION:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_EXPRESSION}"
        return Parsed(None, [Issue(-1, message)])
    found, issues = tokens(source)
    parser = _Parser(TokenStream(source, found, issues))
    root: AstNode | None = None
    with contextlib.suppress(ParsingStopped):
        root = parser.start()
    return Parsed(None if issues else root, issues)


class _Parser:
    def __init__(self, stream: TokenStream) -> None:
        self._tokens = stream
        self._make = AstBuilder()
        #: Nesting depth of expressions at the current token.
        self._depth = 0

    def start(self) -> AstNode:
        root = self._expression()
        self._tokens.expect_end()
        return root

    def _too_deep(self, message: str) -> NoReturn:
        self._tokens.report(-1, message)
        raise ParsingStopped

    def _expression(self, *also_expected: str) -> AstNode:
        self._tokens.require_start(*also_expected)
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            self._too_deep(TOO_DEEP)
        condition = self._operation(1)
        question = self._tokens.accept("?")
        if question is not None:
            self._tokens.require_start()
            chosen = self._operation(1)
            self._tokens.expect(":")
            other = self._expression()
            condition = self._make.call(question.offset, ast.CONDITIONAL, condition, chosen, other)
        self._depth -= 1
        return condition

    def _operation(self, lowest: int) -> AstNode:
        """Parse operators of at least this precedence, all left-associative."""
        left = self._unary()
        length = 0
        while (precedence := self._precedence()) >= lowest:
            operator = self._tokens.take()
            self._tokens.require_start()
            right = self._operation(precedence + 1)
            left = self._joined(operator, left, right, grow=length > 0)
            length += 1
            if length > _MAX_CHAINS[precedence]:
                self._too_deep(_CHAIN_TOO_LONG)
        return left

    def _precedence(self) -> int:
        kind = self._tokens.current.kind
        if kind is not TokenKind.PUNCTUATION and kind is not TokenKind.KEYWORD:
            return 0
        return _PRECEDENCE.get(self._tokens.current.text, 0)

    def _joined(self, operator: Token, left: AstNode, right: AstNode, *, grow: bool) -> AstNode:
        """Build an operation; a chain of `&&` or `||` is one call with many arguments."""
        function = _OPERATORS[operator.text]
        if grow and function in (ast.AND, ast.OR) and isinstance(left, ast.FunctionCall) and left.function == function:
            return self._make.call(operator.offset, function, *left.args, right)
        return self._make.call(operator.offset, function, left, right)

    def _unary(self) -> AstNode:
        if self._tokens.is_at("-") and self._tokens.ahead(1).kind in (TokenKind.INT, TokenKind.DOUBLE):
            return self._member()
        if not self._tokens.is_at("!", "-"):
            return self._member()
        first = self._tokens.current
        count = 0
        while self._tokens.accept(first.text):
            count += 1
        self._tokens.require_operand(first)
        operand = self._member()
        if count % 2 == 0:
            return operand
        function = ast.NOT if first.text == "!" else ast.NEGATE
        return self._make.call(first.offset, function, operand)

    def _member(self) -> AstNode:
        operand = self._primary()
        length = 0
        while True:
            if dot := self._tokens.accept("."):
                operand = self._selection(operand, dot)
            elif bracket := self._tokens.accept("["):
                operand = self._index(operand, bracket)
            else:
                return operand
            length += 1
            if length >= DEEPEST_NESTING:
                self._too_deep(_CHAIN_TOO_LONG)

    def _selection(self, operand: AstNode, dot: Token) -> AstNode:
        optional = self._tokens.accept("?") is not None
        name = self._field_name(dot)
        if optional:
            field = self._make.literal(name.offset, name.text)
            return self._make.call(dot.offset, ast.OPTIONAL_SELECT, operand, field)
        opening = self._tokens.accept("(") if name.kind is TokenKind.IDENT else None
        if opening is None:
            return self._make.select(dot.offset, operand, name.text)
        return self._called(opening, name.text, operand, self._arguments())

    def _field_name(self, dot: Token) -> Token:
        token = self._tokens.current
        if token.kind is TokenKind.ESCAPED_IDENT:
            self._tokens.report(token.offset, "unsupported syntax: '`'")
        elif token.kind is not TokenKind.IDENT:
            self._tokens.no_alternative(dot)
        return self._tokens.take()

    def _index(self, operand: AstNode, bracket: Token) -> AstNode:
        optional = self._tokens.accept("?") is not None
        index = self._expression(*(() if optional else ("?",)))
        self._tokens.expect("]")
        function = ast.OPTIONAL_INDEX if optional else ast.INDEX
        return self._make.call(bracket.offset, function, operand, index)

    def _arguments(self) -> tuple[AstNode, ...]:
        """Parse arguments after an opening parenthesis, including the closing one."""
        if self._tokens.accept(")"):
            return ()
        arguments = [self._expression(")")]
        while self._tokens.accept(","):
            arguments.append(self._expression())
        self._tokens.expect(")")
        return tuple(arguments)

    def _called(self, opening: Token, function: str, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
        try:
            expanded = expand(self._make, opening.offset, function, target, args)
        except MacroError as error:
            self._tokens.report(error.offset, error.message)
            return self._make.literal(opening.offset, None)
        if expanded is not None:
            return expanded
        if target is None:
            return self._make.call(opening.offset, function, *args)
        return self._make.member_call(opening.offset, function, target, *args)

    def _primary(self) -> AstNode:
        token = self._tokens.take()
        if token.kind in _LITERALS:
            return self._literal(token, token.text)
        if token.kind is TokenKind.IDENT:
            return self._name(token, "")
        match token.text:
            case "(":
                nested = self._expression()
                self._tokens.expect(")")
                return nested
            case "[":
                return self._list(token)
            case "{":
                return self._map(token)
            case ".":
                return self._absolute_name(token)
            case "-":
                number = self._tokens.take()
                return self._literal(token, "-" + number.text, number.kind)
        return self._make.literal(token.offset, CONSTANTS[token.text])

    def _literal(self, token: Token, text: str, kind: TokenKind | None = None) -> AstNode:
        value: Value = None
        try:
            value = _LITERALS[kind or token.kind](text)
        except LiteralError as error:
            self._tokens.report(token.offset, str(error))
        return self._make.literal(token.offset, value)

    def _absolute_name(self, dot: Token) -> AstNode:
        if self._tokens.current.kind is not TokenKind.IDENT:
            self._tokens.no_alternative(dot)
        return self._name(self._tokens.take(), ".")

    def _name(self, token: Token, prefix: str) -> AstNode:
        struct = self._struct(token, prefix)
        if struct is not None:
            return struct
        if token.text in _RESERVED:
            self._tokens.report(token.offset - len(prefix), f"reserved identifier: {token.text}")
        opening = self._tokens.accept("(")
        if opening is not None:
            return self._called(opening, prefix + token.text, None, self._arguments())
        return self._make.ident(token.offset, prefix + token.text)

    def _struct(self, token: Token, prefix: str) -> AstNode | None:
        """Parse `a.b.Name{field: value}`; return None if something else follows."""
        length = 0
        while self._tokens.ahead(length).text == "." and self._tokens.ahead(length + 1).kind is TokenKind.IDENT:
            length += 2
        opening = self._tokens.ahead(length)
        if opening.text != "{" or opening.kind is not TokenKind.PUNCTUATION:
            return None
        name = prefix + token.text + "".join(self._tokens.ahead(at).text for at in range(length))
        self._tokens.take(length + 1)
        return self._make.struct(opening.offset, name, *self._fields(opening))

    def _fields(self, opening: Token) -> Iterable[AstNode]:
        values: list[AstNode] = []
        while not self._ends_with("}", values):
            self._tokens.accept("?")
            self._field_name(opening)
            self._tokens.expect(":")
            values.append(self._expression())
            self._tokens.require_separator("}")
        return values

    def _list(self, opening: Token) -> AstNode:
        elements: list[AstNode] = []
        optionals: list[int] = []
        while not self._ends_with("]", elements):
            if self._tokens.accept("?"):
                optionals.append(len(elements))
            elements.append(self._expression(*(() if elements else ("]", ",", "?"))))
            self._tokens.require_separator("]")
        return self._make.list(opening.offset, *elements, optionals=optionals)

    def _map(self, opening: Token) -> AstNode:
        entries: list[ast.MapEntry] = []
        while not self._ends_with("}", entries):
            optional = self._tokens.accept("?") is not None
            key = self._expression(*(() if entries else ("}", ",", "?")))
            colon = self._tokens.expect(":")
            value = self._expression()
            entries.append(self._make.entry(colon.offset, key, value, optional=optional))
            self._tokens.require_separator("}")
        return self._make.map(opening.offset, *entries)

    def _ends_with(self, closing: str, elements: Sequence[AstNode]) -> bool:
        """Consume a comma, a closing bracket or both; return whether there was a bracket."""
        if self._tokens.accept(",") and (not elements or not self._continues()):
            self._tokens.expect(closing)
            return True
        return self._tokens.accept(closing) is not None

    def _continues(self) -> bool:
        return self._tokens.is_at("?") or self._tokens.starts(self._tokens.current)
