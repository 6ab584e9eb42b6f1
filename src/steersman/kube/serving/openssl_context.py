# SPDX-License-Identifier: Apache-2.0
"""TLS that requests client certificates and accepts any; they are verified per request.

The ssl module verifies certificates during the handshake or does not request them, and a failed
handshake cannot be answered with 401. pyOpenSSL can continue. `OpenSslContext` and `OpenSslObject`
replace the two ssl classes that the event loop uses (`wrap_bio`), so that its own code does the
I/O, timeouts and shutdown. Made by `server_tls`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, Self, TypeVar

from OpenSSL import SSL, crypto

P = ParamSpec("P")
T = TypeVar("T")

_RECORD_BYTES: Final = 1 << 14
"""Maximum length of a TLS record, and so of a read."""
_PIECE_BYTES: Final = 1 << 15
"""More than a record, so that one is written in one piece."""


class OpenSslContext(ssl.SSLContext):
    """Creates a server's connections. Replacing `current` does not affect open ones."""

    current: SSL.Context
    #: Whether new connections request client certificates.
    asks_for_certificates: bool

    def __new__(cls, current: SSL.Context) -> Self:
        made = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        made.current, made.asks_for_certificates = current, False
        return made

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = True,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> OpenSslObject:
        connection = SSL.Connection(self.current)
        connection.set_accept_state()
        if not self.asks_for_certificates:
            connection.set_verify(SSL.VERIFY_NONE)
        return OpenSslObject(connection, incoming, outgoing)


class OpenSslObject(ssl.SSLObject):
    """One connection between two buffers of the event loop. Raises the ssl module's errors."""

    def __init__(self, connection: SSL.Connection, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._connection = connection
        self._incoming = incoming
        self._outgoing = outgoing
        self._chain: Sequence[bytes] | None = None
        #: Whether OpenSSL may have more data to read.
        self._has_more = False

    def do_handshake(self) -> None:
        self._take_in()
        self._carry_out(self._connection.do_handshake)

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """Return the next bytes, or their number with `buffer`; empty after close_notify."""
        self._take_in()
        try:
            data = self._carry_out(self._connection.recv, min(len, _RECORD_BYTES))
        except ssl.SSLZeroReturnError:
            data = b""
        if buffer is None:
            return data
        memoryview(buffer)[: data.__len__()] = data
        return data.__len__()

    def write(self, data: Any) -> int:
        """Return the number of bytes written; the caller writes the rest again."""
        return self._carry_out(self._connection.send, data) if data else 0

    def unwrap(self) -> None:
        """Send close_notify and wait for the client's."""
        self._take_in()
        if not (self._carry_out(self._connection.shutdown) or self._carry_out(self._connection.shutdown)):
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the client has not said goodbye")

    def pending(self) -> int:
        """Return more than 0 while there may be data: uvloop reads only then."""
        return self._connection.pending() or int(self._has_more)

    def get_unverified_chain(self) -> Sequence[bytes]:
        """Return the certificates that the client has sent, unverified, its own first, as DER."""
        if self._chain is None:
            own, others = self._connection.get_peer_certificate(), self._connection.get_peer_cert_chain()
            shown = [] if own is None else [own, *(others or ())]
            self._chain = [crypto.dump_certificate(crypto.FILETYPE_ASN1, one) for one in shown]
        return self._chain

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return an empty dictionary, like the ssl module for an unverified certificate."""
        chain = self.get_unverified_chain()
        if binary_form or not chain:
            return chain[0] if chain else None
        return {}

    def cipher(self) -> tuple[str, str, int] | None:
        name, version = self._connection.get_cipher_name(), self._connection.get_cipher_version()
        bits = self._connection.get_cipher_bits()
        return None if name is None or version is None or bits is None else (name, version, bits)

    def compression(self) -> None:
        return None

    def version(self) -> str:
        return self._connection.get_protocol_version_name()

    def _carry_out(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the operation, convert its errors, and in any case send OpenSSL's output."""
        try:
            return operation(*args, **kwargs)
        except SSL.WantReadError as wait:
            self._has_more = False
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the client has to go on") from wait
        except SSL.ZeroReturnError as end:
            raise ssl.SSLZeroReturnError(ssl.SSL_ERROR_ZERO_RETURN, "the client has said goodbye") from end
        except SSL.SysCallError as end:
            raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the client has gone") from end
        except SSL.Error as fault:
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, reason_of(fault)) from fault
        finally:
            self._hand_out()

    def _take_in(self) -> None:
        data = self._incoming.read()
        if data:
            self._connection.bio_write(data)
            self._has_more = True
        if self._incoming.eof:
            self._connection.bio_shutdown()

    def _hand_out(self) -> None:
        length = _PIECE_BYTES
        try:
            while length == _PIECE_BYTES:
                length = self._outgoing.write(self._connection.bio_read(_PIECE_BYTES))
        except SSL.WantReadError:
            return  # no output


def new_context() -> SSL.Context:
    """Return a context without session resumption: clients always send their certificates."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_TICKET)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_verify(SSL.VERIFY_PEER, _go_on)
    context.set_verify_depth(0)  # avoids the cost of the handshake's own verification, which is ignored
    return context


def reason_of(fault: SSL.Error) -> str:
    """Return the fault as described by OpenSSL."""
    errors = fault.args[0] if fault.args else ()
    return ", ".join(str(error[-1]) for error in errors) if isinstance(errors, list) else str(fault)


def _go_on(*_: object) -> bool:
    """Accept an invalid certificate, so that its client gets an answer."""
    return True
