# SPDX-License-Identifier: Apache-2.0
"""Clients that show certificates, to a server over TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.kube.serving.client_identities import HOUR, NOW, SERVER, Issuer, der, root
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import Received, get_with_certificate, statuses_of_two_connections

from steersman.kube.serving import Access, CertificateUsers, ClientAuthorities, ProxyHeaders, User
from steersman.kube.serving.http import HeaderFields
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
    folder: Path,
    identity: Identity,
    reviews: Reviews,
    known: ClientAuthorities,
    headers: dict[str, str] | None = None,
    path: str = "/metrics",
) -> Received:
    return get_with_certificate(path, client_tls(folder, identity), CertificateUsers(known), reviews, headers or {})


def client_tls(folder: Path, identity: Identity) -> ssl.SSLContext:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(*identity.write(folder, "client"))
    return client


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
    issuer = root()
    alice = Issuer("alice", issuer)
    forged = Issuer("root", alice).identity(alice)
    assert ask(tmp_path, forged, Everybody(), ClientAuthorities(issuer.pem)).status == 401


def test_a_stranger_is_answered_with_401(tmp_path: Path) -> None:
    answer = ask(tmp_path, STRANGERS.user("alice"), Everybody(), authorities())
    assert (answer.status, answer.json["reason"]) == (401, "Unauthorized")


def test_a_client_with_an_untrusted_certificate_does_not_see_open_paths(tmp_path: Path) -> None:
    assert ask(tmp_path, STRANGERS.user("alice"), Everybody(), authorities(), path="/livez").status == 401
    assert ask(tmp_path, USERS.user("alice"), Everybody(), authorities(), path="/livez").status == 200


def test_a_client_with_an_untrusted_certificate_and_a_token_is_authenticated_by_the_token(tmp_path: Path) -> None:
    reviews = Everybody()
    token = {"Authorization": "Bearer monitor"}
    assert ask(tmp_path, STRANGERS.user("mallory"), reviews, authorities(), token).status == 200
    assert ask(tmp_path, STRANGERS.user("mallory"), reviews, authorities(), token, path="/livez").status == 200
    assert [user.name for user in reviews.seen] == ["prometheus"]


@pytest.mark.parametrize(
    "certificate",
    [
        lambda issuer: Issuer("alice", issuer, begins=NOW - 2 * HOUR, ends=NOW - HOUR),
        lambda issuer: Issuer("alice", issuer, begins=NOW + HOUR, ends=NOW + 2 * HOUR),
        lambda issuer: Issuer("alice", issuer, usages=(SERVER,)),
        lambda issuer: Issuer("alice"),
    ],
    ids=["expired", "not yet valid", "for servers", "self-signed"],
)
def test_a_certificate_that_does_not_count_is_answered_with_401(
    tmp_path: Path, certificate: Callable[[Issuer], Issuer]
) -> None:
    issuer = root()
    assert ask(tmp_path, certificate(issuer).identity(), Everybody(), ClientAuthorities(issuer.pem)).status == 401
    assert ask(tmp_path, Issuer("bob", issuer).identity(), Everybody(), ClientAuthorities(issuer.pem)).status == 200


def test_a_certificate_ends_while_its_connection_lasts() -> None:
    time, issuer = [NOW.timestamp()], root()
    users = CertificateUsers(ClientAuthorities(issuer.pem), clock=lambda: time[0])
    shown = [Issuer("alice", issuer, ends=NOW + HOUR / 2).der]
    found = users.identify(shown, HeaderFields())
    assert found is not None
    assert found.name == "alice"
    time[0] += HOUR.total_seconds() * 0.75
    assert users.identify(shown, HeaderFields()) is None
    time[0] -= HOUR.total_seconds() * 0.75
    assert users.identify(shown, HeaderFields()) == found


def test_of_several_common_names_the_last_one_counts() -> None:
    """As in Go: whoever approves a certificate there has seen that one."""
    issuer = root()
    shown = Issuer("alice", issuer, former_name="system:kube-controller-manager").der
    found = CertificateUsers(ClientAuthorities(issuer.pem)).identify([shown], HeaderFields())
    assert found is not None
    assert found.name == "alice"


def test_a_key_on_a_curve_unknown_to_go_authenticates_no_user() -> None:
    issuer = root()
    shown = Issuer("alice", issuer, key=ec.generate_private_key(ec.SECP256K1())).der
    assert CertificateUsers(ClientAuthorities(issuer.pem)).identify([shown], HeaderFields()) is None


def test_an_invalid_certificate_authenticates_no_user() -> None:
    users = CertificateUsers(authorities())
    assert users.identify([b"nonsense"], HeaderFields()) is None
    assert users.identify([der(USERS.user("alice").certificate), b"nonsense"], HeaderFields()) is None


def test_a_session_is_not_resumed(tmp_path: Path) -> None:
    """A session would be resumed without the certificates between the client's own and the authority."""
    branch = Authority("branch", USERS)
    identity = branch.user("alice")
    chain = Identity(identity.certificate + branch.certificate, identity.key)
    client = client_tls(tmp_path, chain)
    assert statuses_of_two_connections("/metrics", client, CertificateUsers(authorities()), Everybody()) == [
        (200, False),
        (200, False),
    ]


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
    client = client_tls(tmp_path, USERS.user("alice"))
    answer = get_with_certificate("/metrics", client, users, Everybody(), {})
    assert answer.status == 401


def test_the_remaining_lifetime_of_a_certificate_is_reported_with_each_request() -> None:
    lifetimes: list[float] = []
    issuer = root("users")
    users = CertificateUsers(ClientAuthorities(issuer.pem), lambda: NOW.timestamp(), lifetimes.append)
    for shown in (Issuer("alice", issuer, ends=NOW + HOUR / 2), Issuer("mallory", root("strangers"))):
        users.identify([shown.der], HeaderFields())
    assert lifetimes == [pytest.approx(HOUR.total_seconds() / 2, abs=1)]
