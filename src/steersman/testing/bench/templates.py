# SPDX-License-Identifier: Apache-2.0
"""Template files for API objects: one file makes any number of objects, each from its index.

A file without expressions is decoded once, and its objects share everything but their names. Field
names are matched like Go's encoding/json: exactly, or else case-insensitively; a kube-apiserver is
stricter, and so is Steersman elsewhere.

Expressions are the part of Go's text templates that workload files use: `{{ .Index }}`, `{{ .Count
}}` and arithmetic. Braces contain a variable, a number, or a function call whose arguments may be
calls in parentheses: `{{ Mod .Index 12 }}`. Anything else is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, reduce
from operator import add, mul
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import inspect

from steersman import api
from steersman.api import codec, quantity_checks, read_text, yaml_documents
from steersman.base import InputError

T = TypeVar("T", bound=api.Object)

ONE_DOCUMENT: Final = "a template file holds exactly one object"


class Draft(NamedTuple):
    """An object to create."""

    object: api.Object
    #: The object as in its template, including fields that Steersman does not read; {} for an
    #: object without a template.
    document: Mapping[str, Any] = {}


class UnknownKind(InputError):
    """Error for a template of a kind that Steersman does not read."""


class Template:
    """One template file. Errors in it raise `InputError` with the file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._text = read_text(file)
        self._only: Draft | None = None

    def draft(self, index: int = 0, count: int = 1) -> Draft:
        """Return the object with this index, out of `count`."""
        if not has_expressions(self._text):
            if self._only is None:
                self._only = self._decoded(self._text)
            return self._only
        try:
            return self._decoded(rendered(self._text, index, count))
        except InputError as error:
            raise error.located(file=self.file) from error

    def make_object(self, kind: type[T], index: int = 0, count: int = 1) -> T:
        """Return the object with this index, which must be of this kind."""
        return of_kind(kind, self.draft(index, count), self.file)

    def _decoded(self, text: str) -> Draft:
        try:
            document = _document(text)
            return Draft(_object(document), document)
        except InputError as error:
            raise error.located(file=self.file) from error


class Templates:
    """Template files of one run, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Template] = {}

    def __call__(self, file: str) -> Template:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = Template(file)
        return known


def named(obj: T, **changes: Any) -> T:
    """Return the object with changed metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **changes))


def of_kind(kind: type[T], draft: Draft, file: str | None) -> T:
    """Return the draft's object. Raise `InputError` if it is of another kind."""
    made = draft.object
    if not isinstance(made, kind):
        raise InputError("is of the wrong kind", file=file, field="kind", value=made.KIND, hint=f"use a {kind.KIND}")
    return made


def _document(text: str) -> dict[str, Any]:
    found = [document for document in yaml_documents.documents(text) if document is not None]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise InputError(f"has {len(found)} documents", hint=ONE_DOCUMENT)
    return found[0]


def _object(data: dict[str, Any]) -> api.Object:
    header = codec.convert(data, codec.Header)
    kind = codec.class_for(header)
    if kind is None:
        raise UnknownKind("is not a kind that Steersman reads", field="kind", value=header.kind or "")
    obj = codec.convert(with_exact_names(data, kind), kind)
    quantity_checks.check_quantities(obj)
    return obj


# -- field names -------------------------------------------------------------------------------------------------------


def with_exact_names(data: Any, kind: type[api.Object]) -> Any:
    """Return the document with its keys in the exact spelling of the kind's fields."""
    return _with_exact_names(data, _type_info(kind))


@cache
def _type_info(kind: type[api.Object]) -> inspect.Type:
    return inspect.type_info(kind)


def _with_exact_names(data: Any, type_: inspect.Type) -> Any:
    for option in type_.types if isinstance(type_, inspect.UnionType) else (type_,):
        if isinstance(data, dict) and isinstance(option, inspect.StructType):
            fields = _fields(option.cls)
            return dict(_exact_field(name, value, fields) for name, value in data.items())
        if isinstance(data, dict) and isinstance(option, inspect.DictType):
            return {name: _with_exact_names(value, option.value_type) for name, value in data.items()}
        if isinstance(data, list) and isinstance(option, (inspect.ListType, inspect.VarTupleType)):
            return [_with_exact_names(element, option.item_type) for element in data]
    return data


def _exact_field(name: str, value: Any, fields: dict[str, tuple[str, inspect.Type]]) -> tuple[str, Any]:
    known = fields.get(name) or fields.get(name.lower())
    return (name, value) if known is None else (known[0], _with_exact_names(value, known[1]))


@cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, tuple[str, inspect.Type]]:
    """Return the fields of a Struct by exact and by lowercase name."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    entries = [(field.encode_name, field.type) for field in info.fields]
    return {name.lower(): (name, type_) for name, type_ in entries} | {name: (name, type_) for name, type_ in entries}


# -- expressions -------------------------------------------------------------------------------------------------------

Number: TypeAlias = "int | float"

_BRACES: Final = re.compile(r"\{\{(-?)(.*?)(-?)\}\}", re.DOTALL)
_WORD: Final = re.compile(r"\s*(?:(?P<paren>[()])|(?P<number>[-+]?\d+(?:\.\d+)?)|(?P<name>\.?[A-Za-z]\w*)|(?P<bad>\S))")
KNOWN: Final = "use .Index, .Count, numbers, and AddInt, SubtractInt, MultiplyInt, DivideInt, Mod or their …Float forms"


def has_expressions(text: str) -> bool:
    return "{{" in text


def rendered(text: str, index: int, count: int) -> str:
    """Replace every expression by its value. Raise `InputError` with an invalid expression."""
    variables = {".Index": index, ".Count": count}

    def replaced(match: re.Match[str]) -> str:
        if match[1] or match[3]:
            raise _refused(match[0], "trims blanks, which is not supported")
        return _shown(_value(match[2], match[0], variables))

    return _BRACES.sub(replaced, text)


def _shown(value: Number) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


def _value(expression: str, whole: str, variables: Mapping[str, int]) -> Number:
    words = iter(_words(expression))
    try:
        value, rest = _call(words, whole, variables), next(words, None)
    except ZeroDivisionError as error:
        raise _refused(whole, "divides by zero") from error
    if rest is not None:
        raise _refused(whole, f"continues after its end with {rest!r}")
    return value


@lru_cache(maxsize=256)
def _words(expression: str) -> tuple[str, ...]:
    return tuple(match[0].strip() for match in _WORD.finditer(expression) if match[0].strip())


def _call(words: Iterator[str], whole: str, variables: Mapping[str, int]) -> Number:
    """Return the value of a call, whose arguments end with the text or a parenthesis."""
    first = next(words, None)
    if first is None:
        raise _refused(whole, "is empty")
    if first not in _FUNCTIONS:
        return _argument(first, words, whole, variables)
    arguments: list[Number] = []
    for word in words:
        if word == ")":
            break
        arguments.append(_argument(word, words, whole, variables))
    try:
        return _FUNCTIONS[first](*arguments)
    except TypeError as error:
        raise _refused(whole, f"gives {first} {len(arguments)} arguments") from error


def _argument(word: str, words: Iterator[str], whole: str, variables: Mapping[str, int]) -> Number:
    if word == "(":
        return _call(words, whole, variables)
    if word in variables:
        return variables[word]
    try:
        return int(word) if word.lstrip("+-").isdigit() else float(word)
    except ValueError:
        raise _refused(whole, f"contains {word!r}, which is not supported") from None


def _refused(expression: str, why: str) -> InputError:
    return InputError(f"the template expression {why}", value=expression, hint=KNOWN)


def _mod(a: Number, b: Number) -> int:
    """Return Go's remainder, which has the sign of the dividend."""
    if int(b) == 0:
        raise ZeroDivisionError
    return int(math.fmod(int(a), int(b)))


_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "AddFloat": lambda *numbers: float(sum(numbers)),
    "AddInt": lambda *numbers: int(reduce(add, numbers, 0)),
    "SubtractFloat": lambda a, b: float(a - b),
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyFloat": lambda *numbers: float(reduce(mul, numbers, 1)),
    "MultiplyInt": lambda *numbers: int(reduce(mul, numbers, 1)),
    "DivideFloat": lambda a, b: float(a / b),
    "DivideInt": lambda a, b: int(a / b),
    "Mod": _mod,
}
