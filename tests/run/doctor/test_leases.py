# SPDX-License-Identifier: Apache-2.0
"""Leases: one's own, and those of other schedulers."""

from __future__ import annotations

import re

from tests.client.api_server import ApiServer
from tests.run.doctor.examining import examined, hold_lease, named, of

from steersman import config
from steersman.kube.client.lease import LEASE_LABELS
from steersman.run.doctor import Level


def test_a_lease_that_was_never_held_is_fine() -> None:
    assert of(examined(ApiServer()), "lease", Level.OK)[0].message.endswith("has never been held")


def test_a_fresh_lease_names_its_holder() -> None:
    server = ApiServer()
    hold_lease(server, "kube-scheduler", "host_1")
    (finding,) = of(examined(server), "lease", Level.OK)
    assert finding.message.startswith("the lease kube-system/kube-scheduler is held by host_1, renewed ")


def test_a_holder_that_does_not_renew_is_a_warning() -> None:
    server = ApiServer()
    hold_lease(server, "kube-scheduler", "host_1", seconds_ago=300)
    (finding,) = of(examined(server), "lease", Level.WARN)
    assert re.search(r"held by host_1, who renewed it (299|30.) s ago and should every 15 s", finding.message)


def test_a_second_scheduler_that_stands_for_the_first_ones_lease_is_warned() -> None:
    server = ApiServer()
    hold_lease(server, "kube-scheduler", "host_1")
    (finding,) = of(examined(server, named("night", lease="kube-scheduler")), "lease", Level.WARN)
    assert finding.advice == "set leaderElection.resourceName to a name of its own"


def test_two_schedulers_of_the_default_name_with_two_leases_are_a_failure() -> None:
    server = ApiServer()
    hold_lease(server, "kube-scheduler", "host_1")
    (finding,) = of(examined(server, named("default-scheduler")), "schedulers", Level.FAIL)
    assert finding.message.startswith("kube-scheduler (host_1) is active too")


def test_another_scheduler_with_a_name_of_its_own_is_fine() -> None:
    server = ApiServer()
    hold_lease(server, "kube-scheduler", "host_1")
    assert not examined(server, named("night")).has_failed


def test_no_leader_election_is_a_warning() -> None:
    alone = config.load(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\n"
    )
    (finding,) = of(examined(ApiServer(), alone), "lease", Level.WARN)
    assert finding.message.startswith("leader election is off")


def test_what_must_not_be_read_is_reported() -> None:
    server = ApiServer()
    server.faults.refuse(403, times=99, part_of_path="/leases", reason="Forbidden")
    (finding,) = of(examined(server), "lease", Level.WARN)
    assert finding.message.startswith("cannot be checked: ")


def test_leases_of_other_releases_are_seen_by_name_or_label() -> None:
    server = ApiServer()
    hold_lease(server, "steersman-b", "host_1")
    hold_lease(server, "night", "host_2", labels=LEASE_LABELS)
    hold_lease(server, "some-operator", "host_3")
    said = "; ".join(finding.message for finding in of(examined(server, named("steersman")), "schedulers", Level.OK))
    assert "kube-system/steersman-b (host_1)" in said
    assert "kube-system/night (host_2)" in said
    assert "some-operator" not in said
