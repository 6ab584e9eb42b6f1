# SPDX-License-Identifier: Apache-2.0
"""The user of a kubeconfig → where its credentials come from. Called by `kubeconfig`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from steersman.client.auth.credentials import (
    HOLDS_CONTROL,
    Anonymous,
    CertificateFiles,
    Combined,
    Credential,
    Credentials,
    Fixed,
    Headers,
    TokenFile,
    escaped_header_key,
    is_header_value,
)
from steersman.client.auth.exec_plugin import ClusterInfo, CredentialProgram, ExecPlugin
from steersman.client.auth.oidc import OidcProvider, OidcSettings
from steersman.client.connection import TlsSettings, fault_of_address
from steersman.client.kubeconfig_files import AuthProvider, Exec, KubeconfigEntry, KubeconfigUser
from steersman.client.pacing import Timing
from steersman.redaction import hide_passwords

OIDC: Final = "oidc"
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES: Final = ("", "Never", "IfAvailable")


def credentials_of(
    user: KubeconfigEntry[KubeconfigUser], cluster: ClusterInfo, timing: Timing, environment: Mapping[str, str]
) -> Credentials:
    """InputError for what contradicts itself or cannot be used."""
    value = user.value
    if value.exec is not None and value.auth_provider is not None:
        raise user.error("cannot be combined with auth-provider", "exec", hint="remove one of them")
    parts: list[Credentials] = [*_certificate(user), *_secret(user)]
    if value.exec is not None:
        parts.append(ExecPlugin(_program(user, value.exec), cluster, timing, environment))
    if value.auth_provider is not None:
        parts.append(OidcProvider(_oidc(user, value.auth_provider), timing))
    impersonated = _impersonation(user)
    if impersonated:
        parts.append(Fixed(Credential(impersonated)))
    if not parts:
        return Anonymous()
    return parts[0] if len(parts) == 1 else Combined(parts)


def _certificate(user: KubeconfigEntry[KubeconfigUser]) -> list[Credentials]:
    value = user.value
    certificate = _source(user, value.client_certificate_data, value.client_certificate, "client-certificate")
    key = _source(user, value.client_key_data, value.client_key, "client-key")
    if certificate is None and key is None:
        return []
    if certificate is None:
        raise user.error("is missing for the client key", "client-certificate")
    if key is None:
        raise user.error("is missing for the client certificate", "client-key")
    return [CertificateFiles(certificate, key)]


def _source(user: KubeconfigEntry[KubeconfigUser], data: str, file: str, part: str) -> Path | bytes | None:
    """Data win. A file must be there now, and is looked at again later."""
    if data:
        return user.decoded(data, f"{part}-data")
    if not file:
        return None
    user.content("", file, part)
    return user.path(file)


def _secret(user: KubeconfigEntry[KubeconfigUser]) -> list[Credentials]:
    value = user.value
    has_token, has_password = bool(value.token or value.token_file), bool(value.username or value.password)
    if has_token and has_password:
        raise user.error("cannot be combined with a password", "token", hint="remove one of them")
    if not is_header_value(value.token):
        raise user.error(HOLDS_CONTROL, "token")
    if value.token_file:
        if not value.token:
            user.content("", value.token_file, "tokenFile")
        return [TokenFile(user.path(value.token_file), value.token)]
    if value.token:
        return [Fixed.token(value.token)]
    return [Fixed.password(value.username, value.password)] if has_password else []


def _program(user: KubeconfigEntry[KubeconfigUser], its: Exec) -> CredentialProgram:
    if not its.command:
        raise user.error("is missing", "exec.command")
    if its.api_version not in EXEC_VERSIONS:
        raise user.error(
            "is not supported", "exec.apiVersion", value=its.api_version, hint=f"use {' or '.join(EXEC_VERSIONS)}"
        )
    if its.interactive_mode not in INTERACTIVE_MODES:
        raise user.error("needs a terminal, which there is none of", "exec.interactiveMode", value=its.interactive_mode)
    command = str(user.path(its.command)) if "/" in its.command else its.command
    variables = {variable.name: variable.value for variable in its.env}
    return CredentialProgram(
        (command, *its.args), variables, its.api_version, its.install_hint, its.provide_cluster_info
    )


def _oidc(user: KubeconfigEntry[KubeconfigUser], provider: AuthProvider) -> OidcSettings:
    if provider.name != OIDC:
        raise user.error("is not supported", "auth-provider.name", value=provider.name, hint='use "oidc", or exec')
    config = provider.config
    for name in ("idp-issuer-url", "client-id"):
        if not config.get(name):
            raise user.error("is missing", f"auth-provider.config.{name}")
    issuer = config["idp-issuer-url"]
    if fault := fault_of_address(issuer):
        raise user.error(fault, "auth-provider.config.idp-issuer-url", value=hide_passwords(issuer))
    if not is_header_value(config.get("id-token", "")):
        raise user.error(HOLDS_CONTROL, "auth-provider.config.id-token")
    authority = user.content(
        config.get("idp-certificate-authority-data", ""),
        config.get("idp-certificate-authority", ""),
        "auth-provider.config.idp-certificate-authority",
    )
    return OidcSettings(
        issuer=issuer,
        client_id=config["client-id"],
        client_secret=config.get("client-secret", ""),
        id_token=config.get("id-token", ""),
        refresh_token=config.get("refresh-token", ""),
        tls=TlsSettings(authority),
    )


def _impersonation(user: KubeconfigEntry[KubeconfigUser]) -> Headers:
    """The headers that impersonate another user, as client-go writes them: keys of `as-user-extra` are escaped, values must be
    fit for a header as they are."""
    value = user.value
    if not value.as_user:
        if value.as_uid or value.as_groups or value.as_user_extra:
            raise user.error("is missing for the others that begin with as-", "as", hint="name the user")
        return ()
    parts = [("Impersonate-User", value.as_user, "as")]
    if value.as_uid:
        parts.append(("Impersonate-Uid", value.as_uid, "as-uid"))
    parts += [("Impersonate-Group", group, f"as-groups[{index}]") for index, group in enumerate(value.as_groups)]
    parts += [
        (f"Impersonate-Extra-{escaped_header_key(name)}", text, f"as-user-extra[{name}]")
        for name, its in value.as_user_extra.items()
        for text in its
    ]
    for _, text, field in parts:
        if not is_header_value(text):
            raise user.error(HOLDS_CONTROL, field)
    return tuple((header, text) for header, text, _ in parts)
