# SPDX-License-Identifier: Apache-2.0
"""YAML text → plain dicts and lists, read the way Kubernetes reads it.

That is YAML 1.1 as go-yaml understands it: `yes` and `on` are booleans, `0777` is octal, but times stay texts and nothing
is in base 60. Keys become strings. A key that is given twice is an error, and so is a document that consists of aliases:
a few lines could stand for more than any memory holds. Unlike there, a bare `y` or `n` stays a text: other tools write such
names without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from steersman.errors import InputError

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

TOO_DEEP: Final = "is nested too deeply"
_TRUE: Final = frozenset({"yes", "true", "on"})
_OCTAL: Final = re.compile(r"([-+]?)0([0-7]+)")
_LONGEST_NUMBER: Final = 400
"""In characters. No number that fits anywhere is longer, and Python takes long for longer ones."""
_DEEPEST: Final = 1_000
_BRACKET: Final = re.compile(r"[\[{](?![\]}])")
_LINE_START: Final = re.compile(r"^[-?: \t]+", re.MULTILINE)
_FREE_NODES: Final = 1_000
_FREE_ALIASED: Final = 100
_FEW_NODES, _MANY_NODES = 400_000, 4_000_000


class _Loader(_BaseLoader):
    """Safe loader with its own idea of scalars; the table is filled in below."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


def documents(text: str) -> Iterator[Any]:
    """Every document of the text, None for an empty one; raises `InputError` with the line."""
    loader = _Loader(text)
    try:
        _refuse_deep_nesting(text)
        while loader.check_node():
            node = loader.get_node()
            if "*" in text:
                _refuse_excessive_aliases(node)
            yield loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise InputError(_complaint(error), line=_line(error, text), hint=_hint(text)) from error
    except yaml.YAMLError as error:
        raise InputError(f"is not YAML: {error}") from error
    except RecursionError as error:
        raise InputError(TOO_DEEP) from error
    finally:
        loader.dispose()


def _refuse_deep_nesting(text: str) -> None:
    """libyaml builds nodes by recursion and does not look at the stack: some hundred kilobytes of brackets would end the
    process. Its events come without recursion; they are counted where a text might nest that deeply."""
    if _nesting_bound(text) <= _DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise InputError(TOO_DEEP)


def _nesting_bound(text: str) -> int:
    """No text nests more deeply than it has brackets that are not empty, and columns before the first word of a line: a level
    of block style takes one of these, or half a column where a list is not indented."""
    if len(text) <= _DEEPEST:
        return 0
    return len(_BRACKET.findall(text)) + 2 * max(map(len, _LINE_START.findall(text)), default=0)


def _line(error: yaml.MarkedYAMLError, text: str) -> int | None:
    mark = error.problem_mark or error.context_mark
    # The end of the text counts as a line of its own.
    return min(mark.line, text.count("\n")) + 1 if mark else None


def _complaint(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return f"is not YAML: {', '.join(parts)}"


def _hint(text: str) -> str:
    """A template of Helm or the like is YAML only once it is rendered."""
    return "it looks like a template; give what `helm template` makes of it" if "{{" in text else ""


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in _TRUE


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    """An integer that no float holds stays text, as in upstream's reader."""
    digits = node.value.replace("_", "")
    if len(digits) > _LONGEST_NUMBER:
        return str(node.value)
    octal = _OCTAL.fullmatch(digits)
    try:
        return int(f"{octal[1]}0o{octal[2]}" if octal else digits, 0)
    except ValueError:
        raise _not_a_number(node, "an integer") from None


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    try:
        return float(_number(node).lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise _not_a_number(node, "a number") from None


def _number(node: yaml.ScalarNode) -> str:
    text = str(node.value).replace("_", "")
    if len(text) > _LONGEST_NUMBER:
        raise yaml.constructor.ConstructorError(
            problem=f"a number of {len(text)} characters is too long; write it in quotes if it is a text",
            problem_mark=node.start_mark,
        )
    return text


def _not_a_number(node: yaml.ScalarNode, wanted: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=f"is not {wanted}", problem_mark=node.start_mark)


def _construct_text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _construct_map(loader: _Loader, node: yaml.MappingNode) -> Iterator[dict[str, Any]]:
    """In two steps, as aliases inside the map may refer to the map."""
    result: dict[str, Any] = {}
    yield result
    _refuse_repeated_keys(node)
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = _key_text(loader.construct_object(key_node, deep=True), key_node)
        result[key] = loader.construct_object(value_node, deep=True)


def _refuse_excessive_aliases(root: yaml.Node | None) -> None:
    """By the rule of go-yaml: of a large document only so much may be what aliases repeat, and the less the larger it is."""
    sizes: dict[int, int] = {}
    nodes = _expanded_size(root, sizes)
    repeated = nodes - len(sizes)
    if repeated <= _FREE_ALIASED or nodes <= _FREE_NODES:
        return
    share = min(max((nodes - _FEW_NODES) / (_MANY_NODES - _FEW_NODES), 0.0), 1.0)
    if repeated / nodes > 0.99 - 0.89 * share:
        raise yaml.constructor.ConstructorError(problem="document contains excessive aliasing")


def _expanded_size(node: yaml.Node | None, sizes: dict[int, int]) -> int:
    """How many nodes the document has when every alias is replaced; `sizes` keeps that of each node by its identity."""
    if node is None:
        return 0
    known = sizes.get(id(node))
    if known is not None:
        return known
    sizes[id(node)] = 1  # of a node that contains itself, which the constructor refuses
    if isinstance(node, yaml.SequenceNode):
        sizes[id(node)] += sum(_expanded_size(item, sizes) for item in node.value)
    elif isinstance(node, yaml.MappingNode):
        sizes[id(node)] += sum(_expanded_size(part, sizes) for pair in node.value for part in pair)
    return sizes[id(node)]


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    seen = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag.endswith(":merge"):
            continue
        if key_node.value in seen:
            raise yaml.constructor.ConstructorError(
                problem=f'the key "{key_node.value}" is given twice', problem_mark=key_node.start_mark
            )
        seen.add(key_node.value)


def _key_text(key: Any, node: yaml.Node) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return f"{key:g}"
    raise yaml.constructor.ConstructorError(problem="a key must be a string", problem_mark=node.start_mark)


def _resolve(kind: str, pattern: str, first_characters: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), list(first_characters))


_resolve(
    "bool",
    "^(?:yes|Yes|YES|true|True|TRUE|on|On|ON|no|No|NO|false|False|FALSE|off|Off|OFF)$",
    "yYtToOnNfF",
)
_resolve("int", "^[-+]?(?:0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0|[1-9][0-9_]*)$", "-+0123456789")
_resolve(
    "float",
    r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    "-+0123456789.",
)
_resolve("null", "^(?:~|null|Null|NULL|)$", "~nN")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
_resolve("merge", "^<<$", "<")
_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _construct_text)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
