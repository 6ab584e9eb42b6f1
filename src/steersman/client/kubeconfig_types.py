# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig file as it is written. Only what a client without a terminal needs; other fields are ignored."""

from __future__ import annotations

import msgspec


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Cluster(msgspec.Struct, frozen=True, rename=_kebab):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""


class ExecEnvironment(msgspec.Struct, frozen=True):
    name: str = ""
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """A program that hands out credentials."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecEnvironment, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(msgspec.Struct, frozen=True):
    name: str = ""
    config: dict[str, str] = {}


class _UserFields(msgspec.Struct, frozen=True, rename=_kebab):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None


class User(_UserFields, frozen=True, rename={"token_file": "tokenFile", "as_user": "as"}):
    token_file: str = ""
    as_user: str = ""


class Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    name: str = ""
    cluster: Cluster = Cluster()


class NamedUser(msgspec.Struct, frozen=True):
    name: str = ""
    user: User = User()


class NamedContext(msgspec.Struct, frozen=True):
    name: str = ""
    context: Context = Context()


class Kubeconfig(msgspec.Struct, frozen=True, rename=_kebab):
    """One file."""

    kind: str = ""
    current_context: str = ""
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
