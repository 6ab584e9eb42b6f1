# SPDX-License-Identifier: Apache-2.0
"""Credentials of the client: tokens, passwords, certificates, exec plugins, OpenID Connect."""

from steersman.kube.client.auth.credentials import (
    Anonymous,
    CertificateFiles,
    Combined,
    Credential,
    Credentials,
    Fixed,
    TokenFile,
)

__all__ = ["Anonymous", "CertificateFiles", "Combined", "Credential", "Credentials", "Fixed", "TokenFile"]
