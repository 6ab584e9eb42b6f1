# SPDX-License-Identifier: Apache-2.0
"""TLS of the server while it runs: its certificate is read again when the files change, trusted authorities may be added.

Made from `TlsOptions`; `server` listens with `context`, which stays the same object.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from steersman.errors import InputError
from steersman.serving.certificates import Certificate, load_certificate, load_files
from steersman.serving.tls_names import limit_suites, version_named

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 10.0
#: What tells one state of a file from another.
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """As upstream's flags have them."""

    #: --tls-cert-file and --tls-private-key-file, both or neither.
    certificate_file: str = ""
    key_file: str = ""
    #: --tls-min-version: VersionTLS12, VersionTLS13
    min_version: str = ""
    #: --tls-cipher-suites, by Go's names.
    cipher_suites: Sequence[str] = ()


class ServerTls:
    """See the module's text. `own` makes the certificate of a server without files."""

    def __init__(self, options: TlsOptions, own: Callable[[], Certificate]) -> None:
        self._options = options
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = version_named(options.min_version)
        limit_suites(self.context, options.cipher_suites)
        self._stamps = self._current_stamps()
        if options.certificate_file:
            load_files(self.context, options.certificate_file, options.key_file)
        else:
            load_certificate(self.context, own())

    def ask_for_certificates(self, authorities: bytes) -> None:
        """Clients may show certificates of these authorities (PEM), from the next connection on. What was trusted before
        stays so for TLS; `client_certificates` decides what a certificate is worth."""
        try:
            self.context.load_verify_locations(cadata=authorities.decode("ascii"))
        except (ssl.SSLError, ValueError) as cause:
            raise InputError(f"is not a bundle of PEM certificates: {cause}", field="client CA") from cause
        self.context.verify_mode = ssl.CERT_OPTIONAL

    def reload(self) -> bool:
        """Reads the files if they have changed; True when there is a new certificate. A pair that does not fit, because
        only one of the files has been replaced yet, is left alone until it does."""
        stamps = self._current_stamps()
        if stamps == self._stamps:
            return False
        try:
            load_files(self.context, self._options.certificate_file, self._options.key_file)
        except InputError as fault:
            logger.warning("the certificate stays as it was: %s", fault)
            return False
        self._stamps = stamps
        logger.info("the certificate was read again from %s", self._options.certificate_file)
        return True

    async def keep_fresh(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Until it is cancelled."""
        while True:
            await sleep(LOOK_SECONDS)
            self.reload()

    def _current_stamps(self) -> tuple[Stamp | None, ...]:
        files = (self._options.certificate_file, self._options.key_file)
        return tuple(_stamp(file) for file in files if file)


def _stamp(file: str) -> Stamp | None:
    """None: it cannot be read just now."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
