# SPDX-License-Identifier: Apache-2.0
"""Texts of Kubernetes' field validation errors, equal to upstream's.

Paths are strings ("spec.containers[0].image"); `child` and `item` extend them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence


def child(path: str, name: str) -> str:
    """Return the path of a field below `path`, which is empty for the root."""
    return f"{path}.{name}" if path else name


def item(path: str, subscript: int | str) -> str:
    """Return the path of an element of a list or map."""
    return f"{path}[{subscript}]"


def invalid(path: str, value: object, detail: str) -> str:
    """Return the error for an invalid value of the right type."""
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def not_supported(path: str, value: str, supported: Sequence[str]) -> str:
    """Return the error for an unsupported value."""
    choices = ", ".join(_shown(choice) for choice in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {choices}"


def aggregate(messages: Iterable[str]) -> str:
    """Join messages without duplicates, as upstream."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _shown(value: object) -> str:
    # An empty tuple stands for an unset list, which Go marshals as null.
    return "null" if value == () else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
