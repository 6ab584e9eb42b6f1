# SPDX-License-Identifier: Apache-2.0
"""`ip("10.0.0.1")` and `cidr("10.0.0.0/8")`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final

from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.meter import MAX_CACHED
from steersman.api.cel.values import Value, register
from steersman.api.go_text import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_MASK: Final = re.compile(r"[0-9]{1,3}")
_GROUP: Final = re.compile(r"[0-9a-fA-F]*")


@dataclass(frozen=True, slots=True)
class Ip(Equatable):
    """IP address."""

    address: Address

    @property
    def size(self) -> int:
        """Length of the address in bytes."""
        return len(self.address.packed)

    def equals(self, other: Value) -> bool:
        """Return whether the addresses are equal."""
        if not isinstance(other, Ip):
            raise no_such_overload()
        return self.address == other.address


@dataclass(frozen=True, slots=True)
class Cidr(Equatable):
    """IP address with a prefix length."""

    address: Address
    bits: int

    @property
    def size(self) -> int:
        """Length of the prefix in bytes."""
        return -(-self.bits // 8)

    def equals(self, other: Value) -> bool:
        """Return whether address and prefix length are equal."""
        if not isinstance(other, Cidr):
            raise no_such_overload()
        return self == other


register(Ip, "net.IP", "cel.IP")
register(Cidr, "net.CIDR", "cel.CIDR")


def _parse_ip(text: str) -> Ip:
    return _parse_short_ip(text) if len(text) <= MAX_CACHED else _made_ip(text)


@lru_cache(maxsize=4096)
def _parse_short_ip(text: str) -> Ip:
    return _made_ip(text)


def _made_ip(text: str) -> Ip:
    try:
        address = _address(text)
    except CelError as error:
        raise CelError(f"IP Address {quote(text)} parse error during conversion from string: {error}") from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise CelError(f"IP address {quote(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Ip(address)


def _parse_cidr(text: str) -> Cidr:
    return _parse_short_cidr(text) if len(text) <= MAX_CACHED else _made_cidr(text)


@lru_cache(maxsize=4096)
def _parse_short_cidr(text: str) -> Cidr:
    return _made_cidr(text)


def _made_cidr(text: str) -> Cidr:
    prefix = "network address parse error during conversion from string: "
    try:
        cidr = _prefix(text)
    except CelError as error:
        raise CelError(f"{prefix}{prefix}{error}") from None
    if isinstance(cidr.address, ipaddress.IPv6Address) and cidr.address.ipv4_mapped is not None:
        raise CelError(f"{prefix}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return cidr


def _address(text: str) -> Address:
    """Parse an address as Go does: no leading zeros, no whitespace."""
    try:
        if "%" not in text or not text.endswith("%"):
            return ipaddress.ip_address(text)
    except ValueError:
        pass
    raise CelError(f"ParseAddr({quote(text)}): {_complaint(text)}")


def _complaint(text: str) -> str:
    first = next((char for char in text if char in ".:%"), "")
    if first == ".":
        return _complaint_ipv4(text)
    if first == ":":
        return _complaint_ipv6(text)
    return "missing IPv6 address" if first == "%" else "unable to parse IP"


def _complaint_ipv4(text: str) -> str:
    fields = text.split(".")
    position = 0
    for field in fields:
        if not field:
            return f"IPv4 field must have at least one digit (at {quote(text[position:] or '.')})"
        if not (field.isascii() and field.isdigit()):
            bad = next(at for at, char in enumerate(field) if not (char.isascii() and char.isdigit()))
            return f"unexpected character (at {quote(text[position + bad :])})"
        if len(field) > 1 and field[0] == "0":
            return "IPv4 field has octet with leading zero"
        if len(field) > 3 or int(field) > 255:
            return "IPv4 field has value >255"
        position += len(field) + 1
    return "IPv4 address too short" if len(fields) < 4 else "IPv4 address too long"


def _complaint_ipv6(text: str) -> str:
    address, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string"
    position = 0
    for group in address.split(":"):
        if not _GROUP.fullmatch(group) and "." not in group:
            bad = next(at for at, char in enumerate(group) if not _GROUP.fullmatch(char))
            if bad == 0:
                return f"each colon-separated field must have at least one digit (at {quote(address[position:])})"
            return f"unexpected character, want colon (at {quote(address[position + bad :])})"
        if len(group) > 4 and "." not in group:
            return f"each group must have 4 or less digits (at {quote(address[position:])})"
        position += len(group) + 1
    if ":::" in address:
        rest = address[address.index(":::") + 2 :]
        return f"each colon-separated field must have at least one digit (at {quote(rest)})"
    if address.count("::") > 1:
        return f"multiple :: in address (at {quote(address[address.rindex('::') + 1 :])})"
    if "::" not in address and address.count(":") < 7:
        return "address string too short"
    return f"trailing garbage after address (at {quote(address.split(':', 8)[-1])})"


def _prefix(text: str) -> Cidr:
    head, slash, mask = text.rpartition("/")
    if not slash:
        raise CelError(f"netip.ParsePrefix({quote(text)}): no '/'")
    try:
        address = _address(head)
    except CelError as error:
        raise CelError(f"netip.ParsePrefix({quote(text)}): {error}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise CelError(f"netip.ParsePrefix({quote(text)}): IPv6 zones cannot be present in a prefix")
    if not _MASK.fullmatch(mask) or (len(mask) > 1 and mask[0] == "0"):
        raise CelError(f"netip.ParsePrefix({quote(text)}): bad bits after slash: {quote(mask)}")
    if int(mask) > address.max_prefixlen:
        raise CelError(f"netip.ParsePrefix({quote(text)}): prefix length out of range")
    return Cidr(address, int(mask))


def _network(cidr: Cidr) -> int:
    """Return the network bits of the address."""
    return int(cidr.address) >> (cidr.address.max_prefixlen - cidr.bits)


def _masked(cidr: Cidr) -> Cidr:
    shift = cidr.address.max_prefixlen - cidr.bits
    return Cidr(type(cidr.address)(_network(cidr) << shift), cidr.bits)


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    same_family = cidr.address.version == ip.address.version
    return same_family and _network(Cidr(ip.address, cidr.bits)) == _network(cidr)


def _contains_ip_text(cidr: Cidr, text: str) -> bool:
    """Return whether the network contains the address; errors give no details, like upstream's."""
    if not _is_ip(text):
        raise no_such_overload()
    return _contains_ip(cidr, _parse_ip(text))


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    if cidr.address.version != other.address.version or cidr.bits > other.bits:
        return False
    return _network(Cidr(other.address, cidr.bits)) == _network(cidr)


def _contains_cidr_text(cidr: Cidr, text: str) -> bool:
    return _contains_cidr(cidr, _parse_cidr(text))


def _cidr_ip(cidr: Cidr) -> Ip:
    return Ip(cidr.address)


def _ip_text(ip: Ip) -> str:
    return str(ip.address)


def _cidr_text(cidr: Cidr) -> str:
    return f"{cidr.address}/{cidr.bits}"


def _is_ip(text: str) -> bool:
    try:
        _parse_ip(text)
    except CelError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _parse_cidr(text)
    except CelError:
        return False
    return True


def _is_link_local_multicast(ip: Ip) -> bool:
    if ip.address.version == 4:
        return ip.address in ipaddress.IPv4Network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    if address == ipaddress.IPv4Address("255.255.255.255"):
        return False
    excluded = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not excluded


def _is_canonical(text: str) -> bool:
    return str(_parse_ip(text).address) == text


_family: Final = attrgetter("address.version")
_is_unspecified: Final = attrgetter("address.is_unspecified")
_is_loopback: Final = attrgetter("address.is_loopback")
_is_link_local_unicast: Final = attrgetter("address.is_link_local")
_prefix_length: Final = attrgetter("bits")
