# SPDX-License-Identifier: Apache-2.0
"""TLS that asks every client for a certificate and takes any: what it is worth is found out when a request comes.

The ssl module verifies a certificate during the handshake or does not ask for one, and a handshake that breaks cannot be
answered with 401. pyOpenSSL can be told to go on. The event loop does not notice: `OpenSslContext` and `OpenSslObject` are the
two classes of the ssl module that it uses (`wrap_bio`), so that its own code feeds them, bounds them and says goodbye. Made by
`server_tls`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, Self, TypeVar

from OpenSSL import SSL, crypto

P = ParamSpec("P")
T = TypeVar("T")

_RECORD_BYTES: Final = 1 << 14
"""The longest record of TLS: a read yields no more."""
_PIECE_BYTES: Final = 1 << 15
"""More than a record, so that one is handed out in one piece."""


class OpenSslContext(ssl.SSLContext):
    """Makes the connections of a server. `current` is replaced as a whole; a connection keeps the one that it began with."""

    current: SSL.Context
    #: From the next connection on, clients may show certificates.
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
    """One connection between two buffers of the event loop. Errors are those of the ssl module, which the loop knows."""

    def __init__(self, connection: SSL.Connection, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._connection = connection
        self._incoming = incoming
        self._outgoing = outgoing
        self._chain: Sequence[bytes] | None = None
        #: There may be something to read among what OpenSSL was given.
        self._has_more = False

    def do_handshake(self) -> None:
        self._take_in()
        self._carry_out(self._connection.do_handshake)

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """The next bytes, or their number when they go to `buffer`; nothing: the client has said goodbye."""
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
        """How many of the bytes were taken; the rest is written again. What has come stays with the loop, which counts it."""
        return self._carry_out(self._connection.send, data) if data else 0

    def unwrap(self) -> None:
        """Says goodbye, and waits until the client has done so."""
        self._take_in()
        if not (self._carry_out(self._connection.shutdown) or self._carry_out(self._connection.shutdown)):
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the client has not said goodbye")

    def pending(self) -> int:
        """More than 0 while it is worth to read: uvloop does not try otherwise."""
        return self._connection.pending() or int(self._has_more)

    def get_unverified_chain(self) -> Sequence[bytes]:
        """The certificates that the client has shown, its own first, DER. Nobody has verified them."""
        if self._chain is None:
            own, others = self._connection.get_peer_certificate(), self._connection.get_peer_cert_chain()
            shown = [] if own is None else [own, *(others or ())]
            self._chain = [crypto.dump_certificate(crypto.FILETYPE_ASN1, one) for one in shown]
        return self._chain

    def getpeercert(self, binary_form: bool = False) -> Any:
        """An empty dictionary, as the ssl module gives for a certificate that was not verified."""
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
        """Carries the operation out; what is to be said to the client goes out, whatever becomes of it."""
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
            return  # there is nothing to say


def new_context() -> SSL.Context:
    """Sessions are not resumed: a client that comes again shows its certificates again, all of them."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_TICKET)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_verify(SSL.VERIFY_PEER, _go_on)
    context.set_verify_depth(0)  # the handshake's own verification counts for nothing: it is not to cost anything
    return context


def reason_of(fault: SSL.Error) -> str:
    """The fault in OpenSSL's words."""
    errors = fault.args[0] if fault.args else ()
    return ", ".join(str(error[-1]) for error in errors) if isinstance(errors, list) else str(fault)


def _go_on(*_: object) -> bool:
    """Whatever is wrong with a certificate: who shows it gets an answer."""
    return True
