# SPDX-License-Identifier: Apache-2.0
"""Preparation of extenders: call order, timeouts, TLS material, ignored resources.

Used by `effective_configuration`, which passes order and timeouts to the extender client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from steersman.api import Duration
from steersman.config.configuration import (
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerProfile,
    PluginConfig,
    SchedulerConfiguration,
)
from steersman.config.plugins.node_resources import NodeResourcesFitArgs

DEFAULT_TIMEOUT: Final = Duration.from_seconds(5)
_FIT: Final = "NodeResourcesFit"
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN ([^-\n]+)-----[ \t\r]*\n.*?-----END \1-----", re.DOTALL)


class ExtenderConfigError(ValueError):
    """An extender cannot be set up; the text is kube-scheduler's."""


def in_call_order(extenders: Sequence[Extender]) -> tuple[Extender, ...]:
    """Return the extenders in calling order: those with ignorable errors come last."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


def timeout(extender: Extender) -> Duration:
    """Return the timeout of one call."""
    return extender.http_timeout or DEFAULT_TIMEOUT


def with_ignored_resources(config: SchedulerConfiguration) -> tuple[KubeSchedulerProfile, ...]:
    """Return the profiles; NodeResourcesFit then ignores resources that extenders take over."""
    ignored = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return config.profiles
    return tuple(_ignoring(profile, ignored) for profile in config.profiles)


def with_extender_resources(config: SchedulerConfiguration) -> SchedulerConfiguration:
    """Return the configuration as kube-scheduler writes it, with ignored resources if possible."""
    try:
        return msgspec.structs.replace(config, profiles=with_ignored_resources(config))
    except ExtenderConfigError:
        return config


def _ignoring(profile: KubeSchedulerProfile, ignored: tuple[str, ...]) -> KubeSchedulerProfile:
    names = [entry.name for entry in profile.plugin_config]
    if _FIT not in names:
        raise ExtenderConfigError("can't find NodeResourcesFitArgs in plugin config")
    position = names.index(_FIT)
    args = profile.plugin_config[position].args
    if not isinstance(args, NodeResourcesFitArgs):
        raise ExtenderConfigError(f"want args to be of type NodeResourcesFitArgs, got {type(args).__name__}")
    replaced = PluginConfig(name=_FIT, args=msgspec.structs.replace(args, ignored_resources=ignored))
    entries = (*profile.plugin_config[:position], replaced, *profile.plugin_config[position + 1 :])
    return msgspec.structs.replace(profile, plugin_config=entries)


def check_tls(extenders: Iterable[Extender]) -> None:
    """Raise `ExtenderConfigError` if TLS settings of an extender are contradictory or unreadable.

    Checks only the PEM framing; invalid certificates fail when the client connects.
    """
    for extender in extenders:
        _check_tls(extender.tls_config or ExtenderTLSConfig(), https=extender.enable_https)


def _check_tls(tls: ExtenderTLSConfig, *, https: bool) -> None:
    has_ca = bool(tls.ca_data or tls.ca_file)
    if has_ca and tls.insecure:
        raise ExtenderConfigError("specifying a root certificates file with the insecure flag is not allowed")
    has_cert = bool(tls.cert_data or tls.cert_file) and bool(tls.key_data or tls.key_file)
    if not (has_ca or has_cert or tls.insecure or https or tls.server_name):
        return
    ca = _content(tls.ca_data, tls.ca_file)
    cert = _content(tls.cert_data, tls.cert_file)
    key = _content(tls.key_data, tls.key_file)
    if ca:
        _check_ca(ca)
    reloaded = tls.cert_file and tls.key_file and not tls.cert_data and not tls.key_data
    if has_cert and not reloaded:
        _check_key_pair(cert, key)


def _content(data: bytes, file: str) -> bytes:
    if data or not file:
        return data
    try:
        return Path(file).read_bytes()
    except OSError as error:
        failed = "read" if isinstance(error, IsADirectoryError) else "open"
        raise ExtenderConfigError(f"{failed} {file}: {(error.strerror or str(error)).lower()}") from None


def _check_ca(ca: bytes) -> None:
    kinds = _pem_kinds(ca)
    if not kinds:
        raise ExtenderConfigError("unable to load root certificates: unable to parse bytes as PEM block")
    if "CERTIFICATE" not in kinds:
        raise ExtenderConfigError("unable to load root certificates: no valid certificate authority data seen")


def _check_key_pair(cert: bytes, key: bytes) -> None:
    cert_kinds, key_kinds = _pem_kinds(cert), _pem_kinds(key)
    if not cert_kinds:
        raise ExtenderConfigError("tls: failed to find any PEM data in certificate input")
    if "CERTIFICATE" not in cert_kinds:
        raise ExtenderConfigError(_no_certificate(cert_kinds))
    if not key_kinds:
        raise ExtenderConfigError("tls: failed to find any PEM data in key input")
    if not any(_is_private_key(kind) for kind in key_kinds):
        raise ExtenderConfigError(_no_key(key_kinds))


def _no_certificate(kinds: Sequence[str]) -> str:
    start = "tls: failed to find"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            f"{start} certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    skipped = f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"
    return f'{start} "CERTIFICATE" PEM block in certificate input {skipped}'


def _no_key(kinds: Sequence[str]) -> str:
    if list(kinds) == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{' '.join(kinds)}]"
    )


def _is_private_key(kind: str) -> bool:
    return kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY")


def _pem_kinds(data: bytes) -> list[str]:
    return [match[1].decode("ascii", "replace") for match in _PEM_BLOCK.finditer(data)]
