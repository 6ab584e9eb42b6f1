# SPDX-License-Identifier: Apache-2.0
"""YAML parser with Kubernetes' rules.

YAML 1.1 as in go-yaml: `yes` and `on` are booleans, `0777` is octal, but times stay text and base
60 is not supported. Keys become strings. Duplicate keys are errors, and so is excessive aliasing,
by which a few lines could exhaust memory. Unlike go-yaml, a bare `y` or `n` stays text, because
other tools write such names without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from steersman.base import InputError

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

TOO_DEEP: Final = "is nested too deeply"
_TRUE: Final = frozenset({"yes", "true", "on"})
_OCTAL: Final = re.compile(r"([-+]?)0([0-7]+)")
_MAX_NUMBER: Final = 400
"""Maximum characters; no valid number is longer, and Python is slow for longer ones."""
_MAX_DEPTH: Final = 1_000
MAX_EMPTY_DOCUMENTS: Final = 100_000
"""Maximum number of documents without content in a file; parsing one takes about 10 µs."""
_BRACKET: Final = re.compile(r"[\[{](?![\]}])")
_LINE_START: Final = re.compile(r"^[-?: \t]+", re.MULTILINE)
_FREE_NODES: Final = 1_000
_FREE_ALIASED: Final = 100
_FEW_NODES, _MANY_NODES = 400_000, 4_000_000


class _Loader(_BaseLoader):
    """Safe loader with its own scalar resolvers, added below."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    repeated_keys: list[str] | None = None


def documents(text: str, repeated_keys: list[str] | None = None) -> Iterator[Any]:
    """Yield every document, None for an empty one. Raises `InputError` with the line. If
    `repeated_keys` is given, duplicate keys are added to it with go-yaml's messages and the last
    value is used."""
    return _loaded(text, _Loader.construct_document, repeated_keys)


def nodes(text: str) -> Iterator[yaml.Node]:
    """Yield the root node of every document, with positions. Raises `InputError`."""
    return _loaded(text, lambda _, node: node)


def _loaded(
    text: str, result: Callable[[_Loader, yaml.Node], Any], repeated_keys: list[str] | None = None
) -> Iterator[Any]:
    loader = _Loader(text)
    loader.repeated_keys = repeated_keys
    empty, may_have_aliases = 0, "*" in text
    try:
        _refuse_deep_nesting(text)
        while loader.check_node():
            node = loader.get_node()
            assert node is not None, "check_node has found one"
            empty += node.tag.endswith(":null")
            if empty > MAX_EMPTY_DOCUMENTS:
                hint = "remove the superfluous lines `---`"
                raise InputError(f"has more than {MAX_EMPTY_DOCUMENTS:,} empty documents", hint=hint)
            if may_have_aliases:
                _refuse_excessive_aliases(node)
            yield result(loader, node)
    except yaml.MarkedYAMLError as error:
        raise InputError(_complaint(error), line=_line(error, text), hint=_hint(text, error)) from error
    except yaml.YAMLError as error:
        raise InputError(f"is not YAML: {error}") from error
    except RecursionError as error:
        raise InputError(TOO_DEEP) from error
    finally:
        loader.dispose()


def _refuse_deep_nesting(text: str) -> None:
    """Raise `InputError` for too deep nesting. libyaml builds nodes recursively without a limit, so
    that some hundred kilobytes of brackets would crash the process; its events, counted here, do
    not recurse."""
    if _nesting_bound(text) <= _MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise InputError(TOO_DEEP)


def _nesting_bound(text: str) -> int:
    """Return an upper bound of the nesting depth: non-empty brackets, plus columns of indentation;
    a block level takes at least one column, or half of one for unindented lists."""
    if len(text) <= _MAX_DEPTH:
        return 0
    return len(_BRACKET.findall(text)) + 2 * max(map(len, _LINE_START.findall(text)), default=0)


def _line(error: yaml.MarkedYAMLError, text: str) -> int | None:
    mark = error.problem_mark or error.context_mark
    # The end of the text counts as a separate line.
    return min(mark.line, text.count("\n")) + 1 if mark else None


def _complaint(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return f"is not YAML: {', '.join(parts)}"


def _hint(text: str, error: yaml.MarkedYAMLError) -> str:
    """Return a hint for common mistakes: unrendered Helm templates and tabs."""
    if "{{" in text:
        return "it looks like a template; give what `helm template` makes of it"
    line = text.splitlines()[error.problem_mark.line : error.problem_mark.line + 1] if error.problem_mark else []
    if line and "\t" in line[0][: len(line[0]) - len(line[0].lstrip())]:
        return "YAML is indented with spaces, not with tabs"
    return ""


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in _TRUE


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    """Return an integer; too long ones stay text, as upstream."""
    digits = node.value.replace("_", "")
    if len(digits) > _MAX_NUMBER:
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
    if len(text) > _MAX_NUMBER:
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
    """Construct a map in two steps, as aliases inside it may refer to it."""
    result: dict[str, Any] = {}
    yield result
    _check_repeated_keys(node, loader.repeated_keys)
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = _key_text(loader.construct_object(key_node, deep=True), key_node)
        result[key] = loader.construct_object(value_node, deep=True)


def _refuse_excessive_aliases(root: yaml.Node | None) -> None:
    """Raise for excessive aliasing with go-yaml's rule: the larger the document, the smaller the
    permitted share of repeated nodes."""
    sizes: dict[int, int] = {}
    nodes = _expanded_size(root, sizes)
    repeated = nodes - len(sizes)
    if repeated <= _FREE_ALIASED or nodes <= _FREE_NODES:
        return
    share = min(max((nodes - _FEW_NODES) / (_MANY_NODES - _FEW_NODES), 0.0), 1.0)
    if repeated / nodes > 0.99 - 0.89 * share:
        raise yaml.constructor.ConstructorError(problem="document contains excessive aliasing")


def _expanded_size(node: yaml.Node | None, sizes: dict[int, int]) -> int:
    """Return the number of nodes with aliases expanded; `sizes` caches it by node id."""
    if node is None:
        return 0
    known = sizes.get(id(node))
    if known is not None:
        return known
    sizes[id(node)] = 1  # for recursive nodes, which the constructor rejects
    if isinstance(node, yaml.SequenceNode):
        sizes[id(node)] += sum(_expanded_size(item, sizes) for item in node.value)
    elif isinstance(node, yaml.MappingNode):
        sizes[id(node)] += sum(_expanded_size(part, sizes) for pair in node.value for part in pair)
    return sizes[id(node)]


def _check_repeated_keys(node: yaml.MappingNode, found: list[str] | None) -> None:
    seen = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag.endswith(":merge"):
            continue
        if key_node.value in seen and found is not None:
            found.append(f'line {key_node.start_mark.line + 1}: key "{key_node.value}" already set in map')
        elif key_node.value in seen:
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
