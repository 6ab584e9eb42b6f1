# SPDX-License-Identifier: Apache-2.0
"""The wording of Kubernetes' field validation errors, so that messages equal upstream's.

Paths are plain texts ("spec.containers[0].image"); `child` and `item` extend them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence


def child(path: str, name: str) -> str:
    """The path of a field inside `path`; an empty path is the root."""
    return f"{path}.{name}" if path else name


def item(path: str, subscript: int | str) -> str:
    """The path of an element of a list or map."""
    return f"{path}[{subscript}]"


def invalid(path: str, value: object, detail: str) -> str:
    """A value of the right type that is not acceptable."""
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def not_supported(path: str, value: str, supported: Sequence[str]) -> str:
    """A value that is none of the supported ones."""
    choices = ", ".join(_shown(choice) for choice in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {choices}"


def aggregate(messages: Iterable[str]) -> str:
    """Several messages as one; repeated ones are named once."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _shown(value: object) -> str:
    # Go marshals a list that was never set as null, and that is what an empty list is here.
    return "null" if value == () else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
