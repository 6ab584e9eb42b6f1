# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import Code
from steersman.testing import exists, is_in, make_pod

NODE = node_in("node1", region="r1")
BAD_VALUE = (
    'values[0][service]: Invalid value: "{{.bad-value.}}": a valid label must be an empty string or consist of '
    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
    "or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
BAD = is_in("service", "{{.bad-value.}}")


def test_a_required_term_that_cannot_be_read_rejects_the_pod() -> None:
    status = Cycle(make_pod().pod_affinity("region", exists("x")).pod_affinity("region", BAD), [NODE]).pre_filter()
    assert status is not None
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == f"parsing pod: requiredAffinityTerms: {BAD_VALUE}"


def test_all_kinds_of_terms_that_cannot_be_read_are_named() -> None:
    pod = (
        make_pod()
        .anti_affinity("region", BAD)
        .pod_affinity("region", BAD, weight=1)
        .anti_affinity("region", BAD, weight=1)
    )
    status = Cycle(pod, [NODE]).pre_filter()
    assert status is not None
    assert status.message == (
        f"parsing pod: [requiredAntiAffinityTerms: {BAD_VALUE}, preferredAffinityTerms: {BAD_VALUE}, "
        f"preferredAntiAffinityTerms: {BAD_VALUE}]"
    )


def test_pre_score_cannot_go_on_with_such_a_pod() -> None:
    status = Cycle(make_pod().pod_affinity("region", BAD, weight=8), [NODE]).pre_score()
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == f"failed to parse pod: preferredAffinityTerms: {BAD_VALUE}"


def test_an_existing_pod_with_such_a_term_counts_by_its_other_terms() -> None:
    existing = make_pod("p1").anti_affinity("region", exists("foo")).pod_affinity("region", BAD, weight=1).node("node1")
    (status,) = Cycle(make_pod().label("foo", ""), [NODE], [existing]).verdicts()
    assert status is not None
