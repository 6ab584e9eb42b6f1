# SPDX-License-Identifier: Apache-2.0
"""Versions and cipher suites of TLS by the names that Kubernetes' flags have for them, and as the ssl module knows them."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Final

from steersman.errors import InputError

VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
#: Suites of TLS 1.3 are not chosen: neither Go nor the ssl module lets one. Naming them is no mistake.
ALWAYS_ON: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
VERSION_FLAG: Final = "--tls-min-version"
SUITES_FLAG: Final = "--tls-cipher-suites"


def version_named(name: str) -> ssl.TLSVersion:
    """Without a name it is TLS 1.2."""
    if not name:
        return ssl.TLSVersion.TLSv1_2
    if name not in VERSIONS:
        raise InputError("there is no such version", field=VERSION_FLAG, value=name, hint=f"use {', '.join(VERSIONS)}")
    return VERSIONS[name]


def limit_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Only these may be used below TLS 1.3; none named: those of the ssl module."""
    known = [name for name in names if name not in ALWAYS_ON]
    for name in known:
        if name not in SUITES:
            choices = f"use names such as {next(iter(SUITES))}"
            raise InputError("there is no such cipher suite", field=SUITES_FLAG, value=name, hint=choices)
    if not known:
        return
    try:
        context.set_ciphers(":".join(SUITES[name] for name in known))
    except ssl.SSLError as cause:
        raise InputError(f"cannot be used: {cause}", field=SUITES_FLAG, value=",".join(known)) from cause
