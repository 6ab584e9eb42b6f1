# SPDX-License-Identifier: Apache-2.0
"""`Connection` from kubeconfig files, environment and flags.

    files ─► merged (`kubeconfig_files`) ─► context ─► cluster: address, TLS, proxy
                                                └────► user: where its credentials come from
    a pod without a kubeconfig ─► address from the environment, token and authority from files that the kubelet keeps fresh

The command line calls `connect`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from steersman.api import DEFAULT_NAMESPACE
from steersman.base import InputError, Timing, hide_passwords
from steersman.kube.client.auth.credentials import (
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
from steersman.kube.client.auth.exec_plugin import ClusterInfo, CredentialProgram, ExecPlugin
from steersman.kube.client.auth.oidc import OidcProvider, OidcSettings
from steersman.kube.client.connection import Connection, TlsSettings, environment_proxy, fault_of_address
from steersman.kube.client.foreign_input import MAX_SECRET_BYTES, read_file
from steersman.kube.client.kubeconfig_files import (
    AuthProvider,
    Exec,
    KubeconfigCluster,
    KubeconfigContext,
    KubeconfigEntry,
    KubeconfigUser,
    MergedKubeconfig,
    read,
)

T = TypeVar("T")

WITHOUT_HTTP2: Final = "DISABLE_HTTP2"
"""Environment variable of client-go that disables HTTP/2 if it has any value."""
VARIABLE: Final = "KUBECONFIG"
NO_CLUSTER: Final = "no cluster is configured"
HOW_TO_CONFIGURE: Final = "use --kubeconfig, --master or the environment variable KUBECONFIG"
SERVICE_HOST: Final = "KUBERNETES_SERVICE_HOST"
SERVICE_PORT: Final = "KUBERNETES_SERVICE_PORT"
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ClusterChoice(msgspec.Struct, frozen=True):
    """The cluster that a user chose on the command line; "" for options that were not given."""

    kubeconfig: str = ""
    context: str = ""
    #: Address of the API server that overrides the kubeconfig.
    master: str = ""


class ChosenCluster(msgspec.Struct, frozen=True):
    """A connection, and the default namespace of its context."""

    connection: Connection
    namespace: str = DEFAULT_NAMESPACE


def connect(choice: ClusterChoice, environment: Mapping[str, str], timing: Timing | None = None) -> ChosenCluster:
    """Connect by the given kubeconfig, else in-cluster, else by default files, or raise
    InputError."""
    found = _found(choice, environment, timing or Timing())
    if environment.get(WITHOUT_HTTP2):
        plain = msgspec.structs.replace(found.connection, http2=False)
        return msgspec.structs.replace(found, connection=plain)
    return found


def _found(choice: ClusterChoice, environment: Mapping[str, str], timing: Timing) -> ChosenCluster:
    if choice.kubeconfig:
        return _chosen_cluster(read([Path(choice.kubeconfig)], must_exist=True), choice, environment, timing)
    if choice.master and not choice.context:
        return ChosenCluster(_master_connection(choice.master, environment))
    if not choice.context and is_in_cluster(environment):
        return ChosenCluster(in_cluster_connection(environment), in_cluster_namespace())
    merged = read(usual_files(environment), must_exist=False)
    if not merged.files:
        raise InputError(NO_CLUSTER, hint=HOW_TO_CONFIGURE)
    return _chosen_cluster(merged, choice, environment, timing)


def usual_files(environment: Mapping[str, str]) -> list[Path]:
    """Return the files of KUBECONFIG, or else the one in the home directory."""
    named = [Path(part).expanduser() for part in environment.get(VARIABLE, "").split(os.pathsep) if part]
    home = Path(environment.get("HOME") or "~").expanduser()
    return list(dict.fromkeys(named)) or [home / ".kube" / "config"]


def _chosen_cluster(
    merged: MergedKubeconfig, choice: ClusterChoice, environment: Mapping[str, str], timing: Timing
) -> ChosenCluster:
    context = _context(merged, choice.context)
    cluster = _named(merged.clusters, context.value.cluster, context, "cluster")
    user = KubeconfigEntry(KubeconfigUser(), context.file, context.field)
    if context.value.user:
        user = _named(merged.users, context.value.user, context, "user")
    server, tls = _server(cluster, choice.master), _tls(cluster)
    proxy = _proxy(cluster, server, environment)
    credentials = credentials_of(user, ClusterInfo(server, tls, proxy), timing, environment)
    return ChosenCluster(Connection(server, tls, credentials, proxy), context.value.namespace or DEFAULT_NAMESPACE)


def _context(merged: MergedKubeconfig, wanted: str) -> KubeconfigEntry[KubeconfigContext]:
    name = wanted or merged.current_context
    file = str(merged.files[0])
    choices = f"use one of: {', '.join(sorted(merged.contexts))}" if merged.contexts else "add a context"
    if not name:
        raise InputError("is missing", file=file, field="current-context", hint=choices)
    found = merged.contexts.get(name)
    if found is None:
        raise InputError("there is no such context", file=file, field="contexts", value=name, hint=choices)
    return found


def _named(
    entries: Mapping[str, KubeconfigEntry[T]], name: str, context: KubeconfigEntry[KubeconfigContext], part: str
) -> KubeconfigEntry[T]:
    found = entries.get(name)
    if found is None:
        raise context.error(f"names a {part} that is not there", part, value=name)
    return found


def _server(cluster: KubeconfigEntry[KubeconfigCluster], master: str) -> str:
    """Return the server's URL; without a scheme, HTTPS if certificate fields are set."""
    value, server = cluster.value, master or cluster.value.server
    if not server:
        raise cluster.error("is missing", "server", hint="give the URL of the API server")
    if "://" not in server:
        secure = value.certificate_authority or value.certificate_authority_data or value.insecure_skip_tls_verify
        server = f"{'https' if secure else 'http'}://{server}"
    fault = fault_of_address(server)
    if fault:
        raise cluster.error(fault, "server", value=hide_passwords(server))
    if "@" in urlsplit(server).netloc:
        raise cluster.error(
            "holds a name or password", "server", value=hide_passwords(server), hint="give them to the user"
        )
    return server.rstrip("/")


def _master_connection(master: str, environment: Mapping[str, str]) -> Connection:
    server = _server(KubeconfigEntry(KubeconfigCluster(), Path("--master"), "master"), master)
    return Connection(server, proxy=environment_proxy(server, environment))


def _tls(cluster: KubeconfigEntry[KubeconfigCluster]) -> TlsSettings:
    value = cluster.value
    authority = cluster.content(value.certificate_authority_data, value.certificate_authority, "certificate-authority")
    if value.insecure_skip_tls_verify and authority:
        raise cluster.error(
            "cannot be combined with a certificate authority", "insecure-skip-tls-verify", hint="remove one of them"
        )
    if not is_header_value(value.tls_server_name):
        raise cluster.error(HOLDS_CONTROL, "tls-server-name")
    return TlsSettings(authority, value.insecure_skip_tls_verify, value.tls_server_name)


def _proxy(cluster: KubeconfigEntry[KubeconfigCluster], server: str, environment: Mapping[str, str]) -> str:
    proxy = cluster.value.proxy_url
    if proxy and fault_of_address(proxy):
        shown = hide_passwords(proxy)
        raise cluster.error("is not a proxy that can be used", "proxy-url", value=shown, hint="use an HTTP proxy")
    return proxy or environment_proxy(server, environment)


# -- in-cluster configuration ------------------------------------------------------------------------------------------


def is_in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> bool:
    """Return whether this is a pod with a service account."""
    return bool(environment.get(SERVICE_HOST) and environment.get(SERVICE_PORT)) and (folder / "token").exists()


def in_cluster_connection(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection:
    """Return the connection of this pod to its cluster. Raise `InputError` if it is unusable."""
    host, authority = environment[SERVICE_HOST], folder / "ca.crt"
    address = f"[{host}]" if ":" in host else host
    try:
        settings = TlsSettings(read_file(authority, MAX_SECRET_BYTES))
    except (OSError, ValueError) as cause:
        raise InputError(f"the cluster's authority cannot be read: {cause}", file=str(authority)) from cause
    server = f"https://{address}:{environment[SERVICE_PORT]}"
    if fault := fault_of_address(server):
        raise InputError(fault, object="environment", field=f"{SERVICE_HOST}, {SERVICE_PORT}", value=server)
    return Connection(server, settings, TokenFile(folder / "token"))


def in_cluster_namespace(folder: Path = SERVICE_ACCOUNT) -> str:
    """Return the namespace of this pod."""
    try:
        return (folder / "namespace").read_text("utf-8").strip() or DEFAULT_NAMESPACE
    except (OSError, UnicodeDecodeError):
        return "default"


OIDC: Final = "oidc"
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES: Final = ("", "Never", "IfAvailable")


def credentials_of(
    user: KubeconfigEntry[KubeconfigUser], cluster: ClusterInfo, timing: Timing, environment: Mapping[str, str]
) -> Credentials:
    """Return the credentials of a user. Raise `InputError` if they are unusable."""
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
    """Return data or file; data take precedence. A file must exist now and is read again later."""
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
    """Return the impersonation headers as in client-go: keys of `as-user-extra` are escaped, values
    must be valid in headers."""
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
