# SPDX-License-Identifier: Apache-2.0
"""Who the client is: tokens, passwords, certificates, programs that hand out credentials, OpenID Connect."""

from steersman.client.auth.credentials import (
    Anonymous,
    CertificateFiles,
    Combined,
    Credential,
    Credentials,
    Fixed,
    TokenFile,
)

__all__ = ["Anonymous", "CertificateFiles", "Combined", "Credential", "Credentials", "Fixed", "TokenFile"]
