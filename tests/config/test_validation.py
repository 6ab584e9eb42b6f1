# SPDX-License-Identifier: Apache-2.0
"""Validation says what kube-scheduler says about the configuration as a whole."""

from __future__ import annotations

import pytest
from tests.config.documents import configuration
from tests.config.failures import failure, validation_texts

from steersman.config import SchedulerConfiguration, default_configuration, validate
from steersman.config.validation import configuration_errors


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("parallelism: 0\n", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        (
            "percentageOfNodesToScore: 101\n",
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        ("podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        (
            "podMaxBackoffSeconds: 0\n",
            "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        ("clientConnection: {burst: -1}\n", "clientConnection.burst: Invalid value: -1: must be non-negative"),
        (
            "leaderElection: {retryPeriod: -2s}\n",
            'leaderElection.retryPeriod: Invalid value: "-2s": must be greater than zero',
        ),
        (
            "leaderElection: {leaseDuration: 5s}\n",
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        ),
        (
            "leaderElection: {resourceLock: endpoints}\n",
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
    ],
)
def test_a_bad_value_is_named_with_its_field(body: str, text: str) -> None:
    assert validation_texts(configuration(body)) == [text]


def test_all_errors_are_reported_together() -> None:
    body = "parallelism: 0\npodInitialBackoffSeconds: -1\nprofiles:\n- percentageOfNodesToScore: -1\n"
    assert len(validation_texts(configuration(body))) == 3


def test_leader_election_that_is_off_is_not_validated() -> None:
    body = "leaderElection: {leaderElect: false, leaseDuration: -1s, resourceLock: x}\nparallelism: 0\n"
    assert len(validation_texts(configuration(body))) == 1


def test_a_configuration_made_by_a_program_needs_profiles() -> None:
    assert [error.text for error in configuration_errors(SchedulerConfiguration())] == ["profiles: Required value"]


def test_a_valid_configuration_passes() -> None:
    validate(default_configuration())


def test_half_of_a_surrogate_pair_is_no_resource_name() -> None:
    header = '"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"'
    extender = '{"urlPrefix": "http://extender", "managedResources": [{"name": "\\ud800"}]}'
    (problem,) = failure(f'{{{header}, "extenders": [{extender}]}}').errors
    assert problem.field == "extenders[0].managedResources[0].name"
    assert problem.detail.startswith("name part must consist of alphanumeric characters")
