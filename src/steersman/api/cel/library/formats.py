# SPDX-License-Identifier: Apache-2.0
"""Named formats: `format.dns1123Label().validate(text)` and others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.library.urls import parse_request_uri
from steersman.api.cel.values import NONE, Optional, Value, register
from steersman.api.label_syntax import key_errors, value_errors

Check = Callable[[str], list[str]]
"""Returns the errors of a string; empty if it is valid."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_OLD_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_OLD_LABEL_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_OLD_LABEL}')"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_UUID_PATTERN_SIZE: Final = 70
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_TIME_PATTERN_SIZE: Final = 71


@dataclass(frozen=True, slots=True)
class NamedFormat(Equatable):
    """A named format."""

    name: str
    check: Check
    #: Length of the regular expression that determines the cost of validation.
    regex_size: int

    def equals(self, other: Value) -> bool:
        """Return whether the formats are the same."""
        if not isinstance(other, NamedFormat):
            raise no_such_overload()
        return self.name == other.name


register(NamedFormat, "kubernetes.NamedFormat", "cel.Format", hashable=False)


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text.encode()) > limit else []


def _label_errors(text: str) -> list[str]:
    errors = _too_long(text, 63)
    if not re.fullmatch(_LABEL, text):
        errors.append("must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _LABEL_RULE)
    return errors


def _subdomain_errors(text: str) -> list[str]:
    return _too_long(text, 253) + ([] if re.fullmatch(_SUBDOMAIN, text) else [_SUBDOMAIN_RULE])


def _old_label_errors(text: str) -> list[str]:
    return _too_long(text, 63) + ([] if re.fullmatch(_OLD_LABEL, text) else [_OLD_LABEL_RULE])


def _as_prefix(check: Check) -> Check:
    """Return the check for a name prefix, which may end with a dash."""
    return lambda text: check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _uri_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except CelError as error:
        return [str(error)]
    return []


def _matching(holds: Callable[[str], bool], complaint: str) -> Check:
    return lambda text: [] if holds(text) else [complaint]


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text if text[:4] != "0000" else "0400" + text[4:])
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


_FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", _label_errors, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _subdomain_errors, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _old_label_errors, 30),
    "qualifiedName": NamedFormat("QualifiedName", lambda text: list(key_errors(text)), 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(_label_errors), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(_subdomain_errors), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(_old_label_errors), 30),
    "labelValue": NamedFormat("LabelValue", lambda text: list(value_errors(text)), 40),
    "uri": NamedFormat("URI", _uri_errors, 1103),
    "uuid": NamedFormat(
        "uuid",
        _matching(lambda text: _UUID.fullmatch(text) is not None, "does not match the UUID format"),
        _UUID_PATTERN_SIZE,
    ),
    "byte": NamedFormat("byte", _matching(lambda text: _BASE64.fullmatch(text) is not None, "invalid base64"), 84),
    "date": NamedFormat("date", _matching(_is_date, "invalid date"), _TIME_PATTERN_SIZE),
    "datetime": NamedFormat("datetime", _matching(_is_datetime, "invalid datetime"), _TIME_PATTERN_SIZE),
}


def _validate(format_: NamedFormat, text: str) -> Optional:
    errors = format_.check(text)
    return Optional(list(errors)) if errors else NONE


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _constant(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


CONSTANTS: Final = {f"format.{name}": _constant(format_) for name, format_ in _FORMATS.items()}
"""Functions without arguments that return a format."""
