# SPDX-License-Identifier: Apache-2.0
"""Kubeconfig files, read and merged: the first file with a name, or a current context, wins.

`kubeconfig` makes a connection from the result; entries have their file, for relative paths and
errors. Only fields that a client without a terminal needs are read.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from steersman.api import codec, yaml_documents
from steersman.base import InputError
from steersman.kube.client.foreign_input import MAX_KUBECONFIG_BYTES, MAX_SECRET_BYTES, read_file

T = TypeVar("T")


# -- structure of the file ---------------------------------------------------------------------------------------------


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class KubeconfigCluster(msgspec.Struct, frozen=True, rename=_kebab):
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
    """A program that issues credentials."""

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


class KubeconfigUser(_UserFields, frozen=True, rename={"token_file": "tokenFile", "as_user": "as"}):
    token_file: str = ""
    as_user: str = ""


class KubeconfigContext(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    name: str = ""
    cluster: KubeconfigCluster = KubeconfigCluster()


class NamedUser(msgspec.Struct, frozen=True):
    name: str = ""
    user: KubeconfigUser = KubeconfigUser()


class NamedContext(msgspec.Struct, frozen=True):
    name: str = ""
    context: KubeconfigContext = KubeconfigContext()


class Kubeconfig(msgspec.Struct, frozen=True, rename=_kebab):
    """One file."""

    kind: str = ""
    current_context: str = ""
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()


# -- read and merged ---------------------------------------------------------------------------------------------------


class KubeconfigEntry(msgspec.Struct, Generic[T], frozen=True):
    """A value of a file and its location."""

    value: T
    file: Path
    #: Path of the field, such as `users[0].user`.
    field: str

    def path(self, text: str) -> Path:
        """Return the path of a file that the entry names, relative to the kubeconfig."""
        return self.file.parent / Path(text).expanduser()

    def content(self, data: str, file: str, part: str) -> bytes:
        """Return the content of `data` or else of `file`; b"" if neither is given."""
        if data:
            return self.decoded(data, f"{part}-data")
        if not file:
            return b""
        path = self.path(file)
        try:
            return read_file(path, MAX_SECRET_BYTES)
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else cause
            raise self.error(f"cannot be read: {reason}", part, value=str(path)) from cause

    def decoded(self, data: str, part: str) -> bytes:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except ValueError as cause:
            raise self.error(f"is not base64: {cause}", part) from cause

    def error(self, message: str, part: str = "", *, value: str | None = None, hint: str | None = None) -> InputError:
        """Return an error about a part of the entry."""
        place = f"{self.field}.{part}" if part else self.field
        return InputError(message, file=str(self.file), field=place, value=value, hint=hint)


class MergedKubeconfig(msgspec.Struct):
    """Result of merging all files."""

    files: list[Path] = msgspec.field(default_factory=list)
    current_context: str = ""
    clusters: dict[str, KubeconfigEntry[KubeconfigCluster]] = msgspec.field(default_factory=dict)
    users: dict[str, KubeconfigEntry[KubeconfigUser]] = msgspec.field(default_factory=dict)
    contexts: dict[str, KubeconfigEntry[KubeconfigContext]] = msgspec.field(default_factory=dict)

    def add(self, file: Path, content: Kubeconfig) -> None:
        self.files.append(file)
        self.current_context = self.current_context or content.current_context
        for index, cluster in enumerate(content.clusters):
            self.clusters.setdefault(cluster.name, KubeconfigEntry(cluster.cluster, file, f"clusters[{index}].cluster"))
        for index, user in enumerate(content.users):
            self.users.setdefault(user.name, KubeconfigEntry(user.user, file, f"users[{index}].user"))
        for index, context in enumerate(content.contexts):
            self.contexts.setdefault(context.name, KubeconfigEntry(context.context, file, f"contexts[{index}].context"))


def read(files: Iterable[Path], *, must_exist: bool) -> MergedKubeconfig:
    """Read and merge files. Raise `InputError` for an invalid or required missing one."""
    merged = MergedKubeconfig()
    for file in files:
        if must_exist or file.exists():
            merged.add(file, _read(file))
    return merged


def _read(file: Path) -> Kubeconfig:
    try:
        text = read_file(file, MAX_KUBECONFIG_BYTES).decode("utf-8")
    except OSError as cause:
        raise InputError(f"cannot be read: {cause.strerror or cause}", file=str(file)) from cause
    except ValueError as cause:
        raise InputError(f"cannot be read: {cause}", file=str(file)) from cause
    try:
        documents = [document for document in yaml_documents.documents(text) if document is not None]
        return codec.convert(documents[0], Kubeconfig) if documents else Kubeconfig()
    except InputError as error:
        error.value = None  # may be a secret
        raise error.located(file=str(file)) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", file=str(file)) from error
