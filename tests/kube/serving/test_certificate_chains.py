# SPDX-License-Identifier: Apache-2.0
"""Whom authorities vouch for, certificate by certificate."""

from __future__ import annotations

import datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.kube.serving.client_identities import CLIENT, HOUR, NOW, SERVER, Issuer, root

from steersman.kube.serving.certificate_chains import CertificateRejected, TrustedAuthorities

ROOT = root()
BRANCH = Issuer("branch", ROOT, ca=True, usages=None)


def names(certificate: Issuer, *others: Issuer, trusted: Issuer = ROOT, now: datetime.datetime = NOW) -> list[str]:
    """The chain, by common names."""
    shown = [other.certificate for other in others]
    chain = TrustedAuthorities([trusted.certificate]).chain(certificate.certificate, shown, now)
    return [one.subject.rfc4514_string() for one in chain]


def objection(certificate: Issuer, *others: Issuer, trusted: Issuer = ROOT, now: datetime.datetime = NOW) -> str:
    with pytest.raises(CertificateRejected) as rejected:
        names(certificate, *others, trusted=trusted, now=now)
    return str(rejected.value)


def test_a_chain_leads_to_the_authority() -> None:
    assert names(Issuer("alice", ROOT)) == ["CN=alice", "CN=users"]
    assert names(Issuer("alice", BRANCH), BRANCH) == ["CN=alice", "CN=branch", "CN=users"]


def test_the_order_of_what_a_client_shows_does_not_matter() -> None:
    twig = Issuer("twig", BRANCH, ca=True, usages=None)
    assert names(Issuer("alice", twig), BRANCH, twig) == ["CN=alice", "CN=twig", "CN=branch", "CN=users"]


def test_an_intermediate_that_is_trusted_need_not_have_a_root() -> None:
    assert names(Issuer("alice", BRANCH), trusted=BRANCH) == ["CN=alice", "CN=branch"]


def test_a_stranger_is_rejected() -> None:
    assert objection(Issuer("alice", root("others"))) == "unable to get local issuer certificate"
    assert objection(Issuer("alice")) == "self-signed certificate"


def test_a_chain_with_a_gap_is_rejected() -> None:
    assert objection(Issuer("alice", BRANCH)) == "unable to get local issuer certificate"


def test_who_only_bears_the_name_of_an_authority_is_rejected() -> None:
    assert "signature failure" in objection(Issuer("alice", root("users")))


@pytest.mark.parametrize("usages", [(CLIENT,), (SERVER, CLIENT), None])
def test_a_certificate_for_clients_or_for_everything_is_taken(usages: tuple[str, ...] | None) -> None:
    assert names(Issuer("alice", ROOT, usages=usages))  # type: ignore[arg-type]


def test_a_certificate_for_servers_is_rejected() -> None:
    assert objection(Issuer("alice", ROOT, usages=(SERVER,))) == "incompatible key usage"


def test_an_authority_for_servers_vouches_for_no_client() -> None:
    of_servers = Issuer("servers", ROOT, ca=True, usages=(SERVER,))
    assert objection(Issuer("alice", of_servers), of_servers) == "incompatible key usage"


def test_a_certificate_counts_from_its_first_to_its_last_moment() -> None:
    certificate = Issuer("alice", ROOT, begins=NOW - HOUR / 2, ends=NOW + HOUR / 2)
    assert names(certificate)
    assert objection(certificate, now=NOW + HOUR * 0.75) == "certificate has expired"
    assert "not yet valid" in objection(certificate, now=NOW - HOUR * 0.75)


def test_an_authority_between_that_has_expired_ends_the_chain() -> None:
    old = Issuer("old", ROOT, ca=True, usages=None, begins=NOW - HOUR / 2, ends=NOW - HOUR / 4)
    assert objection(Issuer("alice", old), old) == "certificate has expired"


@pytest.mark.parametrize("ca", [False, None])
def test_a_users_certificate_issues_no_others(ca: bool | None) -> None:
    alice = Issuer("alice", ROOT, ca=ca)
    assert objection(Issuer("mallory", alice), alice)


def test_an_authority_issues_no_more_authorities_than_it_may() -> None:
    last = Issuer("last", ROOT, ca=True, path_length=0, usages=None)
    assert names(Issuer("alice", last), last)
    beyond = Issuer("beyond", last, ca=True, usages=None)
    assert objection(Issuer("alice", beyond), beyond, last) == "path length constraint exceeded"


def test_a_short_key_is_rejected() -> None:
    weak = rsa.generate_private_key(65537, 1024)
    assert objection(Issuer("alice", ROOT, key=weak)) == "its chain has an RSA key of 1024 bits"


def test_a_bundle_may_have_an_authority_before_and_after_its_renewal() -> None:
    before = Issuer("users", ca=True, usages=None, key=ROOT.key, begins=NOW - 2 * HOUR, ends=NOW - HOUR)
    alice = Issuer("alice", ROOT)
    for bundle in ([before, ROOT], [ROOT, before]):
        assert TrustedAuthorities([one.certificate for one in bundle]).chain(alice.certificate, [], NOW)


def test_no_number_of_certificates_makes_a_client_known() -> None:
    others = [Issuer(f"other-{number}", ca=True, usages=None) for number in range(20)]
    assert objection(Issuer("alice", BRANCH), *others, BRANCH)
