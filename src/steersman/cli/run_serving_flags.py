# SPDX-License-Identifier: Apache-2.0
"""The flags of `steersman run` about its HTTPS endpoints: address, certificates, authentication and
authorization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steersman.base import InputError
from steersman.cli.parameters import (
    CommandT,
    Given,
    file_option,
    parse_list,
    parse_seconds,
    switch,
    with_options,
)

if TYPE_CHECKING:
    from steersman.run.app import AuthenticationOptions, ServingOptions


def serving_flags(command: CommandT) -> CommandT:
    return with_options(command, (*_LISTENING, *_AUTHENTICATION, *_PROXY, *_AUTHORIZATION))


def serving_options(given: Given) -> ServingOptions:
    from steersman.kube.serving import AccessOptions
    from steersman.run.app import ServingOptions

    if given["web"] and not given["secure_port"]:
        raise InputError("cannot be served without a port", field="--web", hint="leave out --secure-port=0")
    return ServingOptions(
        address=given["bind_address"],
        port=given["secure_port"],
        certificate_file=given["tls_cert_file"],
        key_file=given["tls_private_key_file"],
        access=AccessOptions(given["open_paths"], given["token_ttl"], given["allowed_ttl"], given["denied_ttl"]),
        min_version=given["tls_min_version"],
        cipher_suites=given["tls_cipher_suites"],
        share_port=bool(given["permit_port_sharing"]),
        share_address=bool(given["permit_address_sharing"]),
        authentication=_authentication(given),
        authorization_kubeconfig=given["authorization_kubeconfig"],
        web=bool(given["web"]),
    )


def _authentication(given: Given) -> AuthenticationOptions:
    from steersman.kube.serving import ProxyHeaders
    from steersman.run.app import AuthenticationOptions

    return AuthenticationOptions(
        kubeconfig=given["authentication_kubeconfig"],
        skip_lookup=bool(given["authentication_skip_lookup"]),
        tolerate_lookup_failure=given["authentication_tolerate_lookup_failure"] is not False,
        client_ca_file=given["client_ca_file"],
        proxy_ca_file=given["requestheader_client_ca_file"],
        proxy=ProxyHeaders(
            allowed_names=given["requestheader_allowed_names"],
            username=given["requestheader_username_headers"],
            uid=given["requestheader_uid_headers"],
            groups=given["requestheader_group_headers"],
            extra_prefixes=given["requestheader_extra_headers_prefix"],
        ),
    )


def _list(name: str, default: str, text: str, *names: str) -> Any:
    return click.option(
        name, *names, default=default, show_default=bool(default), callback=parse_list, metavar="A,…", help=text
    )


def _ttl(name: str, variable: str, text: str) -> Any:
    return click.option(
        name, variable, default="10s", show_default=True, callback=parse_seconds, metavar="DURATION", help=text
    )


_LISTENING = (
    switch("--web", "Serve the web page on the same port, read-only, to users with access to /web/v1/."),
    click.option(
        "--secure-port",
        type=click.IntRange(0, 65535),
        default=10259,
        show_default=True,
        help="Port of the HTTPS endpoints; 0 for none.",
    ),
    click.option("--bind-address", default="0.0.0.0", show_default=True, help="Address of the HTTPS endpoints."),
    switch("--permit-port-sharing", "Allow other processes to listen on the same port (SO_REUSEPORT)."),
    switch("--permit-address-sharing", "Allow other processes to listen on the same address (SO_REUSEADDR)."),
    file_option("--tls-cert-file", "Certificate, read again when it changes; without one it is self-signed."),
    file_option("--tls-private-key-file", "Key of the certificate."),
    click.option(
        "--tls-min-version", default="", metavar="VERSION", help="VersionTLS12 (the default) or VersionTLS13."
    ),
    _list("--tls-cipher-suites", "", "Cipher suites below TLS 1.3, by their names in Kubernetes."),
)
_AUTHENTICATION = (
    file_option(
        "--authentication-kubeconfig", "Kubeconfig of the cluster that reviews tokens; default: the scheduler's own."
    ),
    switch("--authentication-skip-lookup", "Do not read trusted client certificate authorities from the cluster."),
    switch("--authentication-tolerate-lookup-failure", "Start even if they cannot be read; the default."),
    _ttl("--authentication-token-webhook-cache-ttl", "token_ttl", "Time for which reviews of tokens are cached."),
    file_option("--client-ca-file", "Authorities whose certificates name users; default: read from the cluster."),
)
_PROXY = (
    file_option(
        "--requestheader-client-ca-file", "Authorities of proxies that name users; default: read from the cluster."
    ),
    _list("--requestheader-allowed-names", "", "Common names of such proxies; none: all of those authorities."),
    _list("--requestheader-username-headers", "x-remote-user", "Headers with the name of the user."),
    _list("--requestheader-uid-headers", "", "Headers with the uid of the user."),
    _list("--requestheader-group-headers", "x-remote-group", "Headers with groups of the user."),
    _list(
        "--requestheader-extra-headers-prefix", "x-remote-extra-", "Prefix of headers with extra fields of the user."
    ),
)
_AUTHORIZATION = (
    file_option(
        "--authorization-kubeconfig", "Kubeconfig of the cluster that reviews access; default: the scheduler's own."
    ),
    _list("--authorization-always-allow-paths", "/healthz,/readyz,/livez", "Paths that need no rights.", "open_paths"),
    _ttl("--authorization-webhook-cache-authorized-ttl", "allowed_ttl", "Time for which granted access is cached."),
    _ttl("--authorization-webhook-cache-unauthorized-ttl", "denied_ttl", "Time for which refused access is cached."),
)
