"""Tokens to a syntax tree, by recursive descent with operator precedence; macros are expanded on the way.

Messages are those of upstream's generated parser where a mistake is of a common kind: a token too many, a token missing,
an end too early. Behind the first mistake that cannot be repaired parsing stops.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, NoReturn

from steersman.cel import ast
from steersman.cel.ast import Node
from steersman.cel.errors import Issue
from steersman.cel.lexer import Token, TokenKind, tokens
from steersman.cel.literals import (
    LiteralError,
    bytes_value,
    double_value,
    int_value,
    string_value,
    uint_value,
)
from steersman.cel.macros import MacroError, expand
from steersman.cel.nodes import Builder
from steersman.cel.values import Value

DEEPEST_NESTING: Final = 250
LONGEST_EXPRESSION: Final = 100_000
"""Characters; the API server allows far fewer."""

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
_LONGEST_CHAINS: Final = {
    1: LONGEST_EXPRESSION, 2: LONGEST_EXPRESSION, 3: DEEPEST_NESTING, 4: DEEPEST_NESTING - 1, 5: DEEPEST_NESTING - 1,
}  # fmt: skip
"""How many operators of one precedence may follow each other; arithmetic is always inside a comparison."""
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
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_STARTS: Final = frozenset("[{(.-!") | _CONSTANTS.keys()
_EXPECTATION_ORDER: Final = (
    "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "':'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
)  # fmt: skip
_START_EXPECTATIONS: Final = frozenset(_EXPECTATION_ORDER) - {"']'", "'}'", "')'", "','", "'?'", "':'"}


class Parsed(NamedTuple):
    """What became of an expression: a tree, or issues."""

    root: Node | None
    issues: list[Issue]


class _Stop(Exception):
    """Parsing cannot go on; the issue is recorded."""


def parse(source: str) -> Parsed:
    """The syntax tree of an expression."""
    if len(source) > LONGEST_EXPRESSION:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {LONGEST_EXPRESSION}"
        return Parsed(None, [Issue(-1, message)])
    found, issues = tokens(source)
    parser = _Parser(found, issues)
    root: Node | None = None
    with contextlib.suppress(_Stop):
        root = parser.start()
    return Parsed(None if issues else root, issues)


class _Parser:
    def __init__(self, found: list[Token], issues: list[Issue]) -> None:
        self._tokens = found
        self._issues = issues
        self._make = Builder()
        self._position = 0
        #: How deep expressions are nested around the current token.
        self._depth = 0

    def start(self) -> Node:
        root = self._expression()
        if self._token.kind is not TokenKind.END:
            self._report_unexpected("<EOF>", deletable=self._next.kind is TokenKind.END)
        return root

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    @property
    def _next(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def _advance(self) -> Token:
        token = self._token
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _at(self, *texts: str) -> bool:
        kind = self._token.kind
        return self._token.text in texts and (kind is TokenKind.PUNCTUATION or kind is TokenKind.KEYWORD)

    def _accept(self, text: str) -> Token | None:
        return self._advance() if self._at(text) else None

    def _expression(self, *also_expected: str) -> Node:
        self._require_start(also_expected)
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            self._stop(-1, TOO_DEEP)
        condition = self._operation(1)
        question = self._accept("?")
        if question is not None:
            self._require_start()
            chosen = self._operation(1)
            self._expect(":")
            other = self._expression()
            condition = self._make.call(question.offset, ast.CONDITIONAL, condition, chosen, other)
        self._depth -= 1
        return condition

    def _operation(self, lowest: int) -> Node:
        """Operators of at least the given precedence; all of them group to the left."""
        left = self._unary()
        length = 0
        while (precedence := self._precedence()) >= lowest:
            operator = self._advance()
            self._require_start()
            right = self._operation(precedence + 1)
            left = self._joined(operator, left, right, grow=length > 0)
            length += 1
            if length > _LONGEST_CHAINS[precedence]:
                self._stop(-1, _CHAIN_TOO_LONG)
        return left

    def _precedence(self) -> int:
        kind = self._token.kind
        if kind is not TokenKind.PUNCTUATION and kind is not TokenKind.KEYWORD:
            return 0
        return _PRECEDENCE.get(self._token.text, 0)

    def _joined(self, operator: Token, left: Node, right: Node, *, grow: bool) -> Node:
        """One operation; a chain of `&&` or `||` is one call with many arguments."""
        function = _OPERATORS[operator.text]
        if grow and function in (ast.AND, ast.OR) and isinstance(left, ast.Call) and left.function == function:
            return self._make.call(operator.offset, function, *left.args, right)
        return self._make.call(operator.offset, function, left, right)

    def _unary(self) -> Node:
        if self._at("-") and self._next.kind in (TokenKind.INT, TokenKind.DOUBLE):
            return self._member()
        if not self._at("!", "-"):
            return self._member()
        first = self._token
        count = 0
        while self._accept(first.text):
            count += 1
        self._require_start()
        operand = self._member()
        if count % 2 == 0:
            return operand
        function = ast.NOT if first.text == "!" else ast.NEGATE
        return self._make.call(first.offset, function, operand)

    def _member(self) -> Node:
        operand = self._primary()
        length = 0
        while True:
            if dot := self._accept("."):
                operand = self._selection(operand, dot)
            elif bracket := self._accept("["):
                operand = self._index(operand, bracket)
            else:
                return operand
            length += 1
            if length >= DEEPEST_NESTING:
                self._stop(-1, _CHAIN_TOO_LONG)

    def _selection(self, operand: Node, dot: Token) -> Node:
        optional = self._accept("?") is not None
        name = self._field_name()
        if optional:
            field = self._make.literal(name.offset, name.text)
            return self._make.call(dot.offset, ast.OPTIONAL_SELECT, operand, field)
        opening = self._accept("(") if name.kind is TokenKind.IDENT else None
        if opening is None:
            return self._make.select(dot.offset, operand, name.text)
        return self._called(opening, name.text, operand, self._arguments())

    def _field_name(self) -> Token:
        token = self._token
        if token.kind is TokenKind.ESCAPED_IDENT:
            self._issues.append(Issue(token.offset, "unsupported syntax: '`'"))
        elif token.kind is not TokenKind.IDENT:
            if token.text in _CONSTANTS:
                self._stop(token.offset, f"Syntax error: mismatched input '{token.text}' expecting IDENTIFIER")
            text = "" if token.kind is TokenKind.END else token.text
            self._stop(token.offset, f"Syntax error: no viable alternative at input '.{text}'")
        return self._advance()

    def _index(self, operand: Node, bracket: Token) -> Node:
        optional = self._accept("?") is not None
        index = self._expression(*(() if optional else ("'?'",)))
        self._expect("]")
        function = ast.OPTIONAL_INDEX if optional else ast.INDEX
        return self._make.call(bracket.offset, function, operand, index)

    def _arguments(self) -> tuple[Node, ...]:
        """What follows an opening parenthesis, up to the closing one."""
        if self._accept(")"):
            return ()
        arguments = [self._expression("')'")]
        while self._accept(","):
            arguments.append(self._expression())
        self._expect(")")
        return tuple(arguments)

    def _called(self, opening: Token, function: str, target: Node | None, args: tuple[Node, ...]) -> Node:
        try:
            expanded = expand(self._make, opening.offset, function, target, args)
        except MacroError as error:
            self._issues.append(Issue(error.offset, error.message))
            return self._make.literal(opening.offset, None)
        if expanded is not None:
            return expanded
        if target is None:
            return self._make.call(opening.offset, function, *args)
        return self._make.member_call(opening.offset, function, target, *args)

    def _primary(self) -> Node:
        token = self._advance()
        if token.kind in _LITERALS:
            return self._literal(token, token.text)
        if token.kind is TokenKind.IDENT:
            return self._name(token, "")
        match token.text:
            case "(":
                nested = self._expression()
                self._expect(")")
                return nested
            case "[":
                return self._list(token)
            case "{":
                return self._map(token)
            case ".":
                return self._absolute_name(token)
            case "-":
                return self._literal(token, "-" + self._advance().text, self._tokens[self._position - 1].kind)
        return self._make.literal(token.offset, _CONSTANTS[token.text])

    def _literal(self, token: Token, text: str, kind: TokenKind | None = None) -> Node:
        value: Value = None
        try:
            value = _LITERALS[kind or token.kind](text)
        except LiteralError as error:
            self._issues.append(Issue(token.offset, str(error)))
        return self._make.literal(token.offset, value)

    def _absolute_name(self, dot: Token) -> Node:
        if self._token.kind is not TokenKind.IDENT:
            text = "" if self._token.kind is TokenKind.END else self._token.text
            self._stop(self._token.offset, f"Syntax error: no viable alternative at input '.{text}'")
        return self._name(self._advance(), ".")

    def _name(self, token: Token, prefix: str) -> Node:
        struct = self._struct(token, prefix)
        if struct is not None:
            return struct
        if token.text in _RESERVED:
            self._issues.append(Issue(token.offset - len(prefix), f"reserved identifier: {token.text}"))
        opening = self._accept("(")
        if opening is not None:
            return self._called(opening, prefix + token.text, None, self._arguments())
        return self._make.ident(token.offset, prefix + token.text)

    def _struct(self, token: Token, prefix: str) -> Node | None:
        """`a.b.Name{field: value}`, if that is what follows."""
        end = self._position
        while self._tokens[end].text == "." and self._tokens[end + 1].kind is TokenKind.IDENT:
            end += 2
        if self._tokens[end].text != "{" or self._tokens[end].kind is not TokenKind.PUNCTUATION:
            return None
        name = prefix + token.text + "".join(part.text for part in self._tokens[self._position : end])
        self._position = end
        opening = self._advance()
        return self._make.struct(opening.offset, name, *self._fields())

    def _fields(self) -> Iterable[Node]:
        values = []
        while not self._accept("}"):
            self._accept("?")
            self._field_name()
            self._expect(":")
            values.append(self._expression())
            self._require_separator("}")
            self._accept(",")
        return values

    def _list(self, opening: Token) -> Node:
        elements: list[Node] = []
        optionals: list[int] = []
        while not self._ends_with("]"):
            if self._accept("?"):
                optionals.append(len(elements))
            elements.append(self._expression(*(() if elements else ("']'", "','", "'?'"))))
            self._require_separator("]")
        return self._make.list(opening.offset, *elements, optionals=optionals)

    def _map(self, opening: Token) -> Node:
        entries: list[ast.Entry] = []
        while not self._ends_with("}"):
            optional = self._accept("?") is not None
            key = self._expression(*(() if entries else ("'}'", "','", "'?'")))
            colon = self._expect(":")
            value = self._expression()
            entries.append(self._make.entry(colon.offset, key, value, optional=optional))
            self._require_separator("}")
        return self._make.map(opening.offset, *entries)

    def _ends_with(self, closing: str) -> bool:
        """Consumes the comma between elements; whether the closing bracket follows, which may stand behind a comma."""
        self._accept(",")
        if self._at(","):
            self._expect(closing)
            return True
        return self._accept(closing) is not None

    def _require_start(self, also_expected: tuple[str, ...] = ()) -> None:
        """The current token must begin an expression; one that does not is skipped if the next one does."""
        if self._starts(self._token):
            return
        expected = _START_EXPECTATIONS | set(also_expected)
        shown = ", ".join(text for text in _EXPECTATION_ORDER if text in expected)
        self._report_unexpected(f"{{{shown}}}", deletable=self._starts(self._next))

    @staticmethod
    def _starts(token: Token) -> bool:
        if token.kind is TokenKind.PUNCTUATION or token.kind is TokenKind.KEYWORD:
            return token.text in _STARTS
        return token.kind is not TokenKind.END and token.kind is not TokenKind.ESCAPED_IDENT

    def _require_separator(self, closing: str) -> None:
        """Behind an element there must be a comma or the closing bracket."""
        if not self._at(closing, ","):
            self._report_unexpected(f"{{'{closing}', ','}}", deletable=self._next.text in (closing, ","))

    def _expect(self, text: str) -> Token:
        if self._at(text):
            return self._advance()
        deletable = self._next.text == text
        if not deletable and text in ")]" and self._token.kind is TokenKind.END:
            self._stop(self._token.offset, f"Syntax error: missing '{text}' at '<EOF>'")
        self._report_unexpected(f"'{text}'", deletable=deletable)
        return self._advance()

    def _report_unexpected(self, expected: str, *, deletable: bool) -> None:
        token = self._token
        if not deletable:
            self._stop(token.offset, f"Syntax error: mismatched input '{token.text}' expecting {expected}")
        self._issues.append(Issue(token.offset, f"Syntax error: extraneous input '{token.text}' expecting {expected}"))
        self._advance()

    def _stop(self, offset: int, message: str) -> NoReturn:
        self._issues.append(Issue(offset, message))
        raise _Stop
