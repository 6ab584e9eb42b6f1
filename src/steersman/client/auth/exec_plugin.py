"""Credentials from a program, as a kubeconfig's `exec` asks for: run when there are none, when they expire, or are refused.

The program is told what is wanted in KUBERNETES_EXEC_INFO and prints an ExecCredential. It never gets a terminal.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from steersman.api import timestamps
from steersman.client.auth.credentials import Credential, bearer
from steersman.client.timing import Timing
from steersman.client.tls import Certificate, TlsSettings
from steersman.errors import SteersmanError

EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"
DEADLINE_SECONDS: Final = 60.0
_SHOWN_COMPLAINT: Final = 300


class CredentialError(SteersmanError):
    """Nobody gives the client its credentials."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is run; `variables` are added to the environment."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    api_version: str
    install_hint: str = ""
    #: Whether it is told of the cluster.
    wants_cluster: bool = False


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What a program may want to know of the cluster."""

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
    """One program. Runs once for everybody who waits for it."""

    def __init__(self, program: Program, cluster: ClusterInfo, timing: Timing, environment: Mapping[str, str]) -> None:
        self._program = program
        self._clock = timing.clock
        self._environment = {**environment, **program.variables, EXEC_INFO: _exec_info(program, cluster)}
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        #: Seconds since the epoch; None: never.
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
        expires = granted.expiration_timestamp
        self._expires = None if expires is None else timestamps.parse(expires)
        certificate = None
        if granted.client_certificate_data:
            certificate = Certificate(granted.client_certificate_data.encode(), granted.client_key_data.encode())
        headers = bearer(granted.token).headers if granted.token else ()
        return Credential(headers, certificate)

    async def _run(self) -> bytes:
        command = self._program.command
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
            )
        except OSError as cause:
            hint = f"; {self._program.install_hint}" if self._program.install_hint else ""
            raise self._error(f"cannot be run: {cause.strerror}{hint}") from cause
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                output, complaint = await process.communicate()
        except TimeoutError as cause:
            raise self._error(f"did not end within {DEADLINE_SECONDS:g} seconds") from cause
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            text = complaint.decode("utf-8", "replace").strip()[-_SHOWN_COMPLAINT:]
            raise self._error(f"failed with exit code {process.returncode}: {text}")
        return output

    def _read(self, output: bytes) -> _Granted:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError) as cause:
            raise self._error(f"printed no ExecCredential: {cause}") from cause
        wanted = self._program.api_version
        if answer.kind != "ExecCredential" or answer.api_version != wanted:
            raise self._error(f"printed {answer.api_version} {answer.kind}, not {wanted} ExecCredential")
        granted = answer.status
        if granted is None or not (granted.token or granted.client_certificate_data or granted.client_key_data):
            raise self._error("printed neither a token nor a certificate")
        if bool(granted.client_certificate_data) != bool(granted.client_key_data):
            raise self._error("printed a certificate without its key, or a key without its certificate")
        return granted

    def _error(self, message: str) -> CredentialError:
        return CredentialError(f"the credential program {self._program.command[0]} {message}")


def _is_part(mine: Credential, shown: Credential) -> bool:
    """Whether `mine` was shown, perhaps among others."""
    return set(mine.headers) <= set(shown.headers) and mine.certificate in (None, shown.certificate)


def _exec_info(program: Program, cluster: ClusterInfo) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if program.wants_cluster:
        spec["cluster"] = cluster.document()
    info = {"kind": "ExecCredential", "apiVersion": program.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()
