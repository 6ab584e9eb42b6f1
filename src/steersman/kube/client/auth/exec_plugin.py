# SPDX-License-Identifier: Apache-2.0
"""Credentials from a program (`exec` in a kubeconfig), run if missing, expired or refused.

It reads its input from KUBERNETES_EXEC_INFO, prints an ExecCredential and has no terminal.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from steersman.api import timestamps
from steersman.base import InputError, Timing
from steersman.kube.client.auth.credentials import HOLDS_CONTROL, ClientCertificate, Credential, bearer, is_header_value
from steersman.kube.client.connection import TlsSettings
from steersman.kube.client.errors import ClientError, UnreadableAnswer
from steersman.kube.client.foreign_input import decode_foreign

EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"
DEADLINE_SECONDS: Final = 60.0
MAX_OUTPUT_BYTES: Final = 1 << 20
_SHOWN_COMPLAINT: Final = 300


class CredentialError(ClientError):
    """No credentials could be obtained; the request is not sent."""


class CredentialProgram(msgspec.Struct, frozen=True):
    """A program that issues credentials; `variables` are added to its environment."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    api_version: str
    install_hint: str = ""
    #: Whether the program gets the description of the cluster.
    wants_cluster: bool = False


class ClusterInfo(msgspec.Struct, frozen=True):
    """Description of the cluster for a program."""

    server: str
    tls: TlsSettings
    proxy: str = ""

    def document(self) -> dict[str, Any]:
        described: dict[str, Any] = {"server": self.server, "config": None}
        if self.tls.server_name:
            described["tls-server-name"] = self.tls.server_name
        if self.tls.insecure:
            described["insecure-skip-tls-verify"] = True
        if self.tls.authority:
            described["certificate-authority-data"] = base64.b64encode(self.tls.authority).decode("ascii")
        if self.proxy:
            described["proxy-url"] = self.proxy
        return described


class _Granted(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Granted | None = None


class ExecPlugin:
    """One program; concurrent callers share one run."""

    def __init__(
        self, program: CredentialProgram, cluster: ClusterInfo, timing: Timing, environment: Mapping[str, str]
    ) -> None:
        self._program = program
        self._clock = timing.clock
        self._environment = {**environment, **program.variables, EXEC_INFO: _exec_info(program, cluster)}
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        #: Seconds since the epoch; None if the credential does not expire.
        self._expires: float | None = None

    async def current(self) -> Credential:
        async with self._lock:
            expired = self._expires is not None and self._clock.now() >= self._expires
            if self._credential is None or expired:
                self._credential = await self._renewed()
            return self._credential

    async def refused(self, shown: Credential) -> bool:
        async with self._lock:
            mine = self._credential
            if mine is None or _is_part(mine, shown):
                self._credential = await self._renewed()
            return self._credential is not None and not _is_part(self._credential, shown)

    async def _renewed(self) -> Credential:
        granted = self._read(await self._run())
        self._expires = self._expiry(granted)
        certificate = None
        if granted.client_certificate_data:
            certificate = ClientCertificate(granted.client_certificate_data.encode(), granted.client_key_data.encode())
        headers = bearer(granted.token).headers if granted.token else ()
        return Credential(headers, certificate)

    def _expiry(self, granted: _Granted) -> float | None:
        if granted.expiration_timestamp is None:
            return None
        try:
            return timestamps.parse(granted.expiration_timestamp)
        except InputError as cause:
            raise self._error(f"printed an expirationTimestamp that {cause.message}") from cause

    async def _run(self) -> bytes:
        command = self._program.command
        try:
            # ValueError: the command or an argument contains NUL.
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
            )
        except (OSError, ValueError) as cause:
            hint = f"; {self._program.install_hint}" if self._program.install_hint else ""
            reason = cause.strerror if isinstance(cause, OSError) else cause
            raise self._error(f"cannot be run: {reason}{hint}") from cause
        assert process.stdout is not None, "both are pipes"
        assert process.stderr is not None, "both are pipes"
        try:
            async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
                printed = group.create_task(_read_start(process.stdout, MAX_OUTPUT_BYTES + 1))
                complained = group.create_task(_read_start(process.stderr, MAX_OUTPUT_BYTES))
            if len(printed.result()) > MAX_OUTPUT_BYTES:
                raise self._error(f"printed more than {MAX_OUTPUT_BYTES} bytes")
            async with asyncio.timeout(DEADLINE_SECONDS):
                await process.wait()
        except TimeoutError as cause:
            raise self._error(f"did not end within {DEADLINE_SECONDS:g} seconds") from cause
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            text = complained.result().decode("utf-8", "replace").strip()[-_SHOWN_COMPLAINT:]
            raise self._error(f"failed with exit code {process.returncode}: {text}")
        return printed.result()

    def _read(self, output: bytes) -> _Granted:
        try:
            answer = decode_foreign(output, _ExecCredential, "its output")
        except UnreadableAnswer as cause:
            raise self._error(f"printed no ExecCredential: {cause}") from cause
        wanted = self._program.api_version
        if answer.kind != "ExecCredential" or answer.api_version != wanted:
            raise self._error(f"printed {answer.api_version} {answer.kind}, not {wanted} ExecCredential")
        granted = answer.status
        if granted is None or not (granted.token or granted.client_certificate_data or granted.client_key_data):
            raise self._error("printed neither a token nor a certificate")
        if bool(granted.client_certificate_data) != bool(granted.client_key_data):
            raise self._error("printed a certificate without its key, or a key without its certificate")
        if not is_header_value(granted.token):
            raise self._error(f"printed a token that {HOLDS_CONTROL}")
        return granted

    def _error(self, message: str) -> CredentialError:
        return CredentialError(f"the credential program {self._program.command[0]} {message}")


async def _read_start(stream: asyncio.StreamReader, most: int) -> bytes:
    """Read the stream to its end, so that the program does not block, and return its first `most`
    bytes."""
    start = bytearray()
    while piece := await stream.read(1 << 16):
        start += piece[: most - len(start)]
    return bytes(start)


def _is_part(mine: Credential, shown: Credential) -> bool:
    """Return whether `mine` is part of `shown`."""
    return set(mine.headers) <= set(shown.headers) and mine.certificate in (None, shown.certificate)


def _exec_info(program: CredentialProgram, cluster: ClusterInfo) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if program.wants_cluster:
        spec["cluster"] = cluster.document()
    info = {"kind": "ExecCredential", "apiVersion": program.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()
