# SPDX-License-Identifier: Apache-2.0
"""The shipped objects: of the manifests, and of the chart, rendered by as much of Helm as the chart uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"

Document = dict[str, Any]
Objects = dict[tuple[str, str], Document]

_REFUSAL = re.compile(
    r'\{\{- range (\S+) \}\}\n\{\{- if eq \(\.(\w+) \| default "([^"]*)"\) "([^"]*)" \}\}\n'
    r'\{\{- fail "([^"]*)" \}\}\n\{\{- end \}\}\n\{\{- end \}\}\n'
)
_CHOICE = re.compile(r"\{\{ if (\S+) \}\}(.*?)\{\{ else \}\}(.*?)\{\{ end \}\}")
_CONDITIONAL = re.compile(r"\{\{- if (\S+) \}\}\n(.*?)\{\{- end \}\}\n", re.DOTALL)
_TREE = re.compile(r"[ ]*\{\{- toYaml (\S+) \| nindent (\d+) \}\}")
_VALUE = re.compile(r"\{\{ (\S+)(?: \| default (\S+))? \}\}")


class ChartRefusalError(Exception):
    """What Helm's `fail` says."""


def manifests(*folders: str) -> Objects:
    """By kind and name."""
    texts = (path.read_text() for folder in folders for path in sorted((DEPLOY / folder).glob("*.yaml")))
    return _objects("\n---\n".join(texts))


def rendered(values: Mapping[str, Any], release: str = "steersman", namespace: str = "kube-system") -> Objects:
    """The chart with its default values, some of which are replaced."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    scope = {
        "Values": _merged(yaml.safe_load((CHART / "values.yaml").read_text()), values),
        "Release": {"Name": release, "Namespace": namespace},
        "Chart": {"AppVersion": chart["appVersion"]},
    }
    texts = (render(path.read_text(), scope) for path in sorted((CHART / "templates").glob("*.yaml")))
    return _objects("\n---\n".join(texts))


def render(template: str, scope: Mapping[str, Any]) -> str:
    """A template of values, defaults, trees, conditions and refusals; anything else of Helm's language is an error."""
    text = _REFUSAL.sub(lambda found: _refuse(scope, *found.groups()), template)
    text = _CONDITIONAL.sub(lambda found: found[2] if _look_up(scope, found[1]) else "", text)
    text = _CHOICE.sub(lambda found: found[2] if _look_up(scope, found[1]) else found[3], text)
    text = _TREE.sub(lambda found: _indented(_look_up(scope, found[1]), int(found[2])), text)
    text = _VALUE.sub(lambda found: str(_look_up(scope, found[1]) or (found[2] and _look_up(scope, found[2]))), text)
    assert "{{" not in text, f"not understood: {text[text.index('{{') :][:80]}"
    return text


def _merged(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """As Helm does: maps are merged, everything else is replaced."""
    both = {
        key for key, value in values.items() if isinstance(value, Mapping) and isinstance(defaults.get(key), Mapping)
    }
    return {**defaults, **values, **{key: _merged(defaults[key], values[key]) for key in both}}


def _refuse(scope: Mapping[str, Any], path: str, key: str, default: str, refused: str, message: str) -> str:
    if any((item.get(key) or default) == refused for item in _look_up(scope, path)):
        raise ChartRefusalError(message)
    return ""


def _look_up(scope: Mapping[str, Any], path: str) -> Any:
    value: Any = scope
    for part in path.removeprefix(".").split("."):
        value = value[part]
    return value


def _indented(tree: Any, columns: int) -> str:
    lines = yaml.safe_dump(tree, sort_keys=False).splitlines()
    return "\n".join(" " * columns + line for line in lines)


def _objects(text: str) -> Objects:
    documents = [document for document in yaml.safe_load_all(text) if document is not None]
    objects = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(objects) == len(documents), "two objects of one name"
    return objects
