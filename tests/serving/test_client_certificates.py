# SPDX-License-Identifier: Apache-2.0
"""Clients that show certificates, to a server over TLS."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.serving.reviews import Reviews
from tests.serving.running import Received, get_with_certificate

from steersman.serving import Access, CertificateUsers, ClientAuthorities, ProxyHeaders, User
from steersman.serving.http import HeaderFields
from steersman.testing.control_plane import Authority, Identity

USERS, PROXIES, STRANGERS = Authority("users"), Authority("proxies"), Authority("strangers")


class Everybody(Reviews):
    """Who asks may do it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[User] = []

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        self.seen.append(user)
        return Access(True)


def authorities(*allowed: str) -> ClientAuthorities:
    return ClientAuthorities(USERS.certificate, ProxyHeaders(PROXIES.certificate, allowed))


def ask(
    folder: Path, identity: Identity, reviews: Reviews, known: ClientAuthorities, headers: dict[str, str] | None = None
) -> Received:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(*identity.write(folder, "client"))
    return get_with_certificate("/metrics", client, CertificateUsers(known), reviews, headers or {})


def test_a_certificate_names_a_user_and_groups(tmp_path: Path) -> None:
    reviews = Everybody()
    answer = ask(tmp_path, USERS.user("alice", ("ops", "dev")), reviews, authorities())
    assert answer.status == 200
    (user,) = reviews.seen
    assert (user.name, set(user.groups)) == ("alice", {"ops", "dev", "system:authenticated"})
    ((key, (digest,)),) = user.extra
    assert key == "authentication.kubernetes.io/credential-id"
    assert digest.startswith("X509SHA256=")


def test_a_user_without_rights_is_forbidden_by_name(tmp_path: Path) -> None:
    answer = ask(tmp_path, USERS.user("mallory"), Reviews(), authorities())
    assert answer.status == 403
    assert 'User "mallory" cannot get path' in answer.json["message"]


def test_intermediate_authorities_that_the_client_shows_are_followed(tmp_path: Path) -> None:
    reviews, branch = Everybody(), Authority("branch", USERS)
    identity = branch.user("alice", ("ops",))
    chain = Identity(identity.certificate + branch.certificate, identity.key)
    assert ask(tmp_path, chain, reviews, authorities()).status == 200
    assert [user.name for user in reviews.seen] == ["alice"]


def test_an_authority_that_is_no_root_may_be_trusted(tmp_path: Path) -> None:
    reviews, branch = Everybody(), Authority("branch", STRANGERS)
    known = ClientAuthorities(branch.certificate)
    assert ask(tmp_path, branch.user("alice"), reviews, known).status == 200


def test_intermediate_authorities_of_proxies_make_no_users(tmp_path: Path) -> None:
    branch = Authority("branch", PROXIES)
    identity = branch.user("alice")
    chain = Identity(identity.certificate + branch.certificate, identity.key)
    assert ask(tmp_path, chain, Everybody(), authorities("front")).status == 401


def test_a_users_certificate_is_no_authority(tmp_path: Path) -> None:
    """Even where TLS had let it pass."""
    alice = USERS.user("alice")
    forger = Authority("alice")
    forger._key = load_pem_private_key(alice.key, None)  # type: ignore[assignment]
    forged = forger.user("root")
    ders = [ssl.PEM_cert_to_DER_cert(one.certificate.decode()) for one in (forged, alice)]
    headers = HeaderFields()
    assert CertificateUsers(authorities()).identify(ders[0], headers, ders[1:]) is None


def test_a_certificate_of_strangers_is_not_even_shaken_hands_with(tmp_path: Path) -> None:
    with pytest.raises(aiohttp.ClientError):
        ask(tmp_path, STRANGERS.user("alice"), Everybody(), authorities())


def test_a_proxy_says_who_the_user_is(tmp_path: Path) -> None:
    reviews = Everybody()
    headers = {"X-Remote-User": "bob", "X-Remote-Group": "ops", "X-Remote-Extra-Scopes": "all"}
    assert ask(tmp_path, PROXIES.user("front"), reviews, authorities("front"), headers).status == 200
    assert reviews.seen == [User("bob", "", ("ops", "system:authenticated"), (("scopes", ("all",)),))]


def test_another_certificate_of_the_proxies_authority_is_not_believed(tmp_path: Path) -> None:
    headers = {"X-Remote-User": "bob"}
    assert ask(tmp_path, PROXIES.user("other"), Everybody(), authorities("front"), headers).status == 401


def test_a_user_cannot_play_the_proxy(tmp_path: Path) -> None:
    reviews = Everybody()
    ask(tmp_path, USERS.user("alice"), reviews, authorities("alice"), {"X-Remote-User": "admin"})
    assert [user.name for user in reviews.seen] == ["alice"]


def test_an_authority_that_was_replaced_does_not_vouch_any_more(tmp_path: Path) -> None:
    users = CertificateUsers(authorities())
    users.replace(ClientAuthorities(STRANGERS.certificate))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(*USERS.user("alice").write(tmp_path, "client"))
    trusted = USERS.certificate + STRANGERS.certificate
    answer = get_with_certificate("/metrics", client, users, Everybody(), {}, trusted)
    assert answer.status == 401
