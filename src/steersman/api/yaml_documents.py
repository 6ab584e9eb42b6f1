"""YAML text → plain dicts and lists, read the way Kubernetes reads it.

That is YAML 1.1 as go-yaml understands it: `yes` and `on` are booleans, `0777` is octal, but times stay texts and nothing
is in base 60. Keys become strings. A key that is given twice is an error. Unlike there, a bare `y` or `n` stays a text:
other tools write such names without quotes.
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

_TRUE: Final = frozenset({"yes", "true", "on"})
_MOST_DIGITS: Final = 4000
_OCTAL: Final = re.compile(r"([-+]?)0([0-7]+)")


class _Loader(_BaseLoader):
    """Safe loader with its own idea of scalars; the table is filled in below."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


def documents(text: str) -> Iterator[Any]:
    """Every document of the text, None for an empty one; raises `InputError` with the line."""
    loader = _Loader(text)
    try:
        while loader.check_data():  # type: ignore[no-untyped-call]
            yield loader.get_data()
    except yaml.MarkedYAMLError as error:
        raise InputError(_complaint(error), line=_line(error, text)) from error
    except yaml.YAMLError as error:
        raise InputError(f"is not YAML: {error}") from error
    except RecursionError as error:
        raise InputError("is nested too deeply") from error
    finally:
        loader.dispose()


def _line(error: yaml.MarkedYAMLError, text: str) -> int | None:
    mark = error.problem_mark or error.context_mark
    # The end of the text counts as a line of its own.
    return min(mark.line, text.count("\n")) + 1 if mark else None


def _complaint(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return f"is not YAML: {', '.join(parts)}"


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in _TRUE


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    """An integer with more digits than Python reads stays text, as in upstream's reader one that no float holds."""
    digits = node.value.replace("_", "")
    if len(digits) > _MOST_DIGITS:
        return str(node.value)
    octal = _OCTAL.fullmatch(digits)
    return int(f"{octal[1]}0o{octal[2]}" if octal else digits, 0)


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(node.value.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))


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
