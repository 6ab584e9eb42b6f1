"""Kubernetes' rules for names in configuration: qualified names, label values, extended resource names.

Each function returns the complaints in kube-scheduler's words, none for a good name. Used by `validation` and
`args_validation`.
"""

from __future__ import annotations

import re
from typing import Final

_QUALIFIED_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED: Final = re.compile(_QUALIFIED_FORMAT)
_SUBDOMAIN_FORMAT: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORMAT)
_LABEL_VALUE_FORMAT: Final = f"({_QUALIFIED_FORMAT})?"
_LABEL_VALUE: Final = re.compile(_LABEL_VALUE_FORMAT)

_LONGEST_NAME: Final = 63
_LONGEST_SUBDOMAIN: Final = 253

_MUST_CONSIST: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_QUALIFIED_RULE: Final = (
    f"{_MUST_CONSIST} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED_FORMAT}')"
)
_LABEL_KEY_RULE: Final = (
    f"a valid label key {_QUALIFIED_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORMAT}')"
)
_LABEL_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE_FORMAT}')"
)


def qualified_name_problems(name: str) -> list[str]:
    """The complaints about a label key or resource name such as `example.com/gpu`."""
    parts = name.split("/")
    if len(parts) > 2:
        return [_LABEL_KEY_RULE]
    problems = _prefix_problems(parts[0]) if len(parts) == 2 else []
    return problems + _name_part_problems(parts[-1])


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    return [f"prefix part {problem}" for problem in subdomain_problems(prefix)]


def _name_part_problems(name: str) -> list[str]:
    problems = []
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > _LONGEST_NAME:
        problems.append(f"name part {_too_long(_LONGEST_NAME)}")
    if not _QUALIFIED.fullmatch(name):
        problems.append(f"name part {_QUALIFIED_RULE}")
    return problems


def subdomain_problems(value: str) -> list[str]:
    problems = [_too_long(_LONGEST_SUBDOMAIN)] if _size(value) > _LONGEST_SUBDOMAIN else []
    return problems + ([] if _SUBDOMAIN.fullmatch(value) else [_SUBDOMAIN_RULE])


def label_value_problems(value: str) -> list[str]:
    problems = [_too_long(_LONGEST_NAME)] if _size(value) > _LONGEST_NAME else []
    return problems + ([] if _LABEL_VALUE.fullmatch(value) else [_LABEL_VALUE_RULE])


def is_extended_resource_name(name: str) -> bool:
    """Whether a resource is neither native nor a quota item, so that an extender may manage it."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not qualified_name_problems(f"requests.{name}")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"
