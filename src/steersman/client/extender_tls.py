# SPDX-License-Identifier: Apache-2.0
"""The TLS settings of an extender, as Python's ssl module wants them. Used by `extenders`."""

from __future__ import annotations

import ssl
from pathlib import Path

from steersman.client.tls import Certificate, load_certificate
from steersman.config import Extender, ExtenderTLSConfig
from steersman.framework.extender import ExtenderError
from steersman.redaction import hide_passwords


def context_for(extender: Extender) -> ssl.SSLContext:
    """An extender that is asked for HTTPS without a certificate authority is trusted blindly, as upstream does it."""
    tls = extender.tls_config or ExtenderTLSConfig()
    try:
        context = ssl.create_default_context()
        if tls.ca_data or tls.ca_file:
            authority = tls.ca_data or Path(tls.ca_file).read_bytes()
            context = ssl.create_default_context(cadata=authority.decode("ascii"))
        elif tls.insecure or extender.enable_https:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_certificate(context, tls)
    except (OSError, ValueError) as cause:
        raise ExtenderError(f"extender {hide_passwords(extender.url_prefix)}: cannot set up TLS: {cause}") from cause
    return context


def _load_certificate(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    if not (tls.cert_data or tls.cert_file) or not (tls.key_data or tls.key_file):
        return
    certificate = tls.cert_data or Path(tls.cert_file).read_bytes()
    key = tls.key_data or Path(tls.key_file).read_bytes()
    load_certificate(context, Certificate(certificate, key))
