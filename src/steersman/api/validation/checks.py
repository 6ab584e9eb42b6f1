# SPDX-License-Identifier: Apache-2.0
"""Checks of single fields (upstream: `apimachinery/pkg/util/validation`, `core/validation`).

A format (`dns1123_label`) maps a string to error messages. A check (`between(1, 100)`) maps a field
path and a value to field errors; `with_format` makes a check of a format. `check_fields` applies a
table of path patterns and checks to a document. Checks of resource quantities are in `resources`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from steersman.api import label_syntax
from steersman.api.json_values import is_same
from steersman.api.validation.field_errors import FieldError

Format: TypeAlias = Callable[[str], list[str]]
"""Function that returns the error messages of a string, none if it has the format."""
Check: TypeAlias = Callable[[str, Any], Iterator[FieldError]]
"""Function that yields the errors of the value at a field path."""
Fields: TypeAlias = Mapping[str, Check]
"""Checks by path pattern (`spec.ports[*].name`), in the order of reported errors."""

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
NOT_AN_INTEGER: Final = "must be an integer"
NOT_AN_OPERATOR: Final = "not a valid selector operator"
NOT_ABSOLUTE: Final = "must be an absolute path"
MAX_INT32: Final = 2**31 - 1
MAX_ANNOTATION_BYTES: Final = 256 * 1024

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_RELAXED_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_RELAXED_SUBDOMAIN: Final = rf"{_RELAXED_LABEL}(\.{_RELAXED_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_PRINTABLE_ASCII: Final = re.compile(r"[\x20-\x7e]*")


# -- formats ---------------------------------------------------------------------------------------


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """Return upstream's message about a string that does not match a regular expression."""
    given = " or ".join(f"'{example}', " for example in examples)
    return f"{message} ({f'e.g. {given}' if examples else ''}regex used for validation is '{pattern}')"


def max_length_error(limit: int) -> str:
    return f"must be no more than {limit} characters"


def range_error(least: int, most: int) -> str:
    return f"must be between {least} and {most}, inclusive"


def byte_length(text: str) -> int:
    """Return the length in UTF-8 bytes, also of lone surrogates, which JSON may contain."""
    return len(text.encode("utf-8", "surrogatepass"))


def _pattern_format(pattern: str, message: str, *examples: str, limit: int = 0) -> Format:
    compiled, complaint = re.compile(pattern), regex_error(message, pattern, *examples)

    @lru_cache(maxsize=4096)
    def complaints(text: str) -> tuple[str, ...]:
        too_long = (max_length_error(limit),) if limit and byte_length(text) > limit else ()
        return too_long if compiled.fullmatch(text) else (*too_long, complaint)

    return lambda text: list(complaints(text))


_SUBDOMAIN_MESSAGE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, {}'-' or '.', and must start and end "
    "with an alphanumeric character"
)
_label = _pattern_format(
    _LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character",
    "my-name",
    "123-abc",
    limit=63,
)
dns1123_subdomain = _pattern_format(_SUBDOMAIN, _SUBDOMAIN_MESSAGE.format(""), "example.com", limit=253)
dns1123_subdomain_with_underscore = _pattern_format(
    _RELAXED_SUBDOMAIN, _SUBDOMAIN_MESSAGE.format("'_', "), "example.com", limit=253
)
dns1035_label = _pattern_format(
    _LABEL_1035,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character",
    "my-name",
    "abc-123",
    limit=63,
)
wildcard_dns1123_subdomain = _pattern_format(
    _WILDCARD,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    "alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
    limit=253,
)
c_identifier = _pattern_format(
    "[A-Za-z_][A-Za-z0-9_]*",
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
percent = _pattern_format(
    "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
http_header_name = _pattern_format(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_config_key = _pattern_format(
    _CONFIG_KEY,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
    limit=253,
)


def dns1123_label(text: str) -> list[str]:
    errors = _label(text)
    if "." in text and not re.fullmatch(_LABEL, text) and re.fullmatch(_SUBDOMAIN, text):
        errors[-1] = "must not contain dots"
    return errors


def qualified_name(text: str) -> list[str]:
    """Return the errors of a label key: a name, optionally after a DNS subdomain and a slash."""
    return list(label_syntax.key_errors(text))


def label_value(text: str) -> list[str]:
    return list(label_syntax.value_errors(text))


def env_var_name(text: str) -> list[str]:
    if not text:
        return ["environment variable name must be non-empty"]
    if _PRINTABLE_ASCII.fullmatch(text) and "=" not in text:
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def config_map_key(text: str) -> list[str]:
    errors = _config_key(text)
    if text in (".", ".."):
        errors.append(f"must not be '{text}'")
    elif text.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def path_segment_name(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{part}'" for part in "/%" if part in text]


def port_name(text: str) -> list[str]:
    """Return the errors of a port name (IANA_SVC_NAME)."""
    rules = (
        (byte_length(text) <= 15, max_length_error(15)),
        (re.fullmatch("[-a-z0-9]+", text), "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        ("--" not in text, "must not contain consecutive hyphens"),
        (not text.startswith("-") and not text.endswith("-"), "must not begin or end with a hyphen"),
    )
    return [complaint for holds, complaint in rules if not holds]


# -- checks ----------------------------------------------------------------------------------------


def with_format(*formats: Format) -> Check:
    """Return a check that a value has all the formats."""

    def check(path: str, value: Any) -> Iterator[FieldError]:
        for complaints in formats:
            yield from (FieldError.invalid(path, value, complaint) for complaint in complaints(str(value)))

    return check


class required:  # noqa: N801 - used like the check functions
    """Check that a value is present and passes another check."""

    def __init__(self, check: Check | None = None, detail: str = "") -> None:
        self._check = check
        self._detail = detail

    def __call__(self, path: str, value: Any) -> Iterator[FieldError]:
        if value in (None, "", [], {}):
            yield FieldError.required(path, self._detail)
        elif self._check is not None:
            yield from self._check(path, value)


def optional(check: Check) -> Check:
    """Return a check that accepts absent values."""
    return lambda path, value: iter(()) if value in (None, "", [], {}) else check(path, value)


def all_of(*checks: Check) -> Check:
    def run(path: str, value: Any) -> Iterator[FieldError]:
        for check in checks:
            yield from check(path, value)

    return run


def each(check: Check) -> Check:
    """Return a check of every element of a list."""

    def run(path: str, values: Any) -> Iterator[FieldError]:
        for index, value in enumerate(values or ()):
            yield from check(f"{path}[{index}]", value)

    return run


def one_of(*choices: str) -> Check:
    """Return a check that a value is one of `choices`, in the order of upstream's message."""

    def check(path: str, value: Any) -> Iterator[FieldError]:
        if value not in choices:
            yield FieldError.not_supported(path, value, choices)

    return check


def at_least(least: int, detail: str = "") -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if value < least:
            yield FieldError.invalid(path, value, detail or f"must be greater than or equal to {least}")

    return check


def at_most(most: int, detail: str = "") -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if value > most:
            yield FieldError.invalid(path, value, detail or f"must be less than or equal to {most}")

    return check


def positive(path: str, value: Any) -> Iterator[FieldError]:
    if value <= 0:
        yield FieldError.invalid(path, value, NOT_POSITIVE)


def between(least: int, most: int, detail: str = "") -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if not least <= value <= most:
            yield FieldError.invalid(path, value, detail or range_error(least, most))

    return check


def at_most_bytes(limit: int) -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if byte_length(str(value)) > limit:
            yield FieldError.too_long(path, limit)

    return check


def at_most_items(limit: int) -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if len(value) > limit:
            yield FieldError.too_many(path, len(value), limit)

    return check


def unique(path: str, values: Iterable[Any], name: str = "") -> Iterator[FieldError]:
    """Yield a duplicate error, at the field `name` if given, for each repeated value."""
    seen: set[Any] = set()
    for index, element in enumerate(values):
        value = element.get(name) if name else element
        if value in seen:
            yield FieldError.duplicate(f"{path}[{index}].{name}" if name else f"{path}[{index}]", value)
        seen.add(value)


non_negative: Final = at_least(0)
port_number: Final = between(1, 65535)
user_id: Final = between(0, MAX_INT32)
name_label: Final = with_format(dns1123_label)
name_subdomain: Final = with_format(dns1123_subdomain)
label_key: Final = with_format(qualified_name)
segment: Final = with_format(path_segment_name)


def int_or_percent(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of an IntOrString: a non-negative number or a percentage."""
    yield from with_format(percent)(path, value) if isinstance(value, str) else non_negative(path, value)


def port_number_or_name(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a port number or name."""
    yield from with_format(port_name)(path, value) if isinstance(value, str) else port_number(path, value)


def path_without_backsteps(path: str, value: Any) -> Iterator[FieldError]:
    if ".." in str(value).split("/"):
        yield FieldError.invalid(path, value, "must not contain '..'")


def domain_prefixed_path(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a name such as `acme.io/foo`."""
    host, _, rest = str(value).partition("/")
    if not host or not rest:
        yield FieldError.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from name_subdomain(path, host)
    if not re.fullmatch(_HTTP_PATH, rest):
        yield FieldError.invalid(path, rest, regex_error("Invalid path", _HTTP_PATH))


def descending_path(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a relative path inside a volume."""
    if str(value).startswith("/"):
        yield FieldError.invalid(path, value, "must be a relative path")
    yield from path_without_backsteps(path, value)


def immutable(path: str, new: Any, old: Any) -> Iterator[FieldError]:
    if not is_same(new, old):
        yield FieldError.invalid(path, new, IMMUTABLE)


# -- addresses -------------------------------------------------------------------------------------

_LEADING_ZEROS: Final = re.compile(r"(^|\.)0+(?=\d)")


def parse_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address, or None if invalid. Like Go's old parser, accept leading zeros."""
    try:
        return ipaddress.ip_address(_LEADING_ZEROS.sub(r"\1", text) if "%" not in text else "")
    except ValueError:
        return None


def ip(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of an IP address in a legacy field (`IsValidIPForLegacyField`)."""
    address = parse_ip(str(value))
    if address is None:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield FieldError.invalid(path, value, detail)
    elif _LEADING_ZEROS.search(str(value)) and ":" not in str(value):
        yield FieldError.invalid(path, value, "must not have leading 0s")
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        yield FieldError.invalid(path, value, "must not be an IPv4-mapped IPv6 address")


def canonical_ip(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of an IP address that must be in canonical form (`IsValidIP`)."""
    errors = list(ip(path, value))
    yield from errors
    address = parse_ip(str(value))
    if not errors and str(address) != value:
        yield FieldError.invalid(path, value, f'must be in canonical form ("{address}")')


def parse_cidr(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the network with host bits cleared, or None if invalid."""
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdecimal() or parse_ip(address) is None:
        return None
    try:
        return ipaddress.ip_network(f"{parse_ip(address)}/{int(length)}", strict=False)
    except ValueError:
        return None


def cidr(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a CIDR in a legacy field (`IsValidCIDRForLegacyField`)."""
    network = parse_cidr(str(value))
    address, _, length = str(value).partition("/")
    if network is None:
        yield FieldError.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif (_LEADING_ZEROS.search(address) and ":" not in address) or (length[0] == "0" and len(length) > 1):
        yield FieldError.invalid(path, value, "must not have leading 0s in IP or prefix length")
    elif isinstance(network, ipaddress.IPv6Network) and network.network_address.ipv4_mapped:
        yield FieldError.invalid(path, value, "must not have an IPv4-mapped IPv6 address")
    elif parse_ip(address) != network.network_address:
        yield FieldError.invalid(path, value, "must not have bits set beyond the prefix length")


# -- labels ----------------------------------------------------------------------------------------


def labels(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of label keys and values. Upstream's order is random."""
    for key, text in (value or {}).items():
        yield from label_key(path, key)
        yield from with_format(label_value)(path, text or "")


def annotation_map(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of annotation keys and of the total size of the annotations."""
    size = 0
    for key, text in (value or {}).items():
        size += byte_length(str(key)) + byte_length(str(text or ""))
        for complaint in qualified_name(str(key).lower()):
            yield FieldError.invalid(path, key, complaint)
    if size > MAX_ANNOTATION_BYTES:
        yield FieldError.too_long(path, MAX_ANNOTATION_BYTES)


def label_selector(path: str, selector: Any) -> Iterator[FieldError]:
    """Yield the errors of a LabelSelector."""
    yield from labels(f"{path}.matchLabels", (selector or {}).get("matchLabels"))
    yield from each(selector_requirement)(f"{path}.matchExpressions", (selector or {}).get("matchExpressions"))


def selector_requirement(
    path: str, requirement: Mapping[str, Any], *, compares_numbers: bool = False, checks_values: bool = True
) -> Iterator[FieldError]:
    """Yield the errors of a requirement of a label selector; with `compares_numbers`, of a node
    selector."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield FieldError.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield FieldError.forbidden(f"{path}.values", detail)
    elif compares_numbers and operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield FieldError.required(f"{path}.values", detail)
    else:
        yield FieldError.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    yield from label_key(f"{path}.key", requirement.get("key") or "")
    if checks_values:
        yield from each(with_format(label_value))(f"{path}.values", values)


# -- tables ----------------------------------------------------------------------------------------


def check_fields(document: Any, fields: Fields, path: str = "") -> Iterator[FieldError]:
    """Yield the errors of the checks in a table. Absent fields are passed only to `required`."""
    for pattern, check in fields.items():
        for found, value in _matches(document, _pattern_steps(pattern), path):
            if value is not None or isinstance(check, required):
                yield from check(found, value)


@lru_cache(maxsize=4096)
def _pattern_steps(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.replace("[*]", ".[*]").split("."))


def _matches(value: Any, pattern: tuple[str, ...], path: str) -> Iterator[tuple[str, Any]]:
    if not pattern:
        yield path, value
    elif pattern[0] == "[*]":
        for index, element in enumerate(value or ()):
            yield from _matches(element, pattern[1:], f"{path}[{index}]")
    elif value is not None:
        yield from _matches(value.get(pattern[0]), pattern[1:], f"{path}.{pattern[0]}" if path else pattern[0])
