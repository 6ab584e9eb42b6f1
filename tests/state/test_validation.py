# SPDX-License-Identifier: Apache-2.0
"""`validate_state()` notices every column that has gone wrong, and says where and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.state.caches import Caches
from tests.state.matching import Untainted, app
from tests.state.tables import HOSTNAME, ZONE, usual_node

from steersman.api.selectors import Operator, Requirement
from steersman.framework.nodes_view import TermKind
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.invariants import StateInvariantError
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.pod_lifecycle import CachedPodState, Life
from steersman.scheduler.state.validation import validate
from steersman.testing import make_pod

SSD = Requirement("disk", Operator.IN, ("ssd",))


@pytest.fixture
def cache() -> Iterator[Cache]:
    """Something of everything: two nodes, a pod with all kinds of demands, one of a missing node, an assumed one."""
    caches = Caches()
    cache = caches.cache
    cache.set_node(usual_node("n1").label("disk", "ssd").image("web:v1", size=5).taint("gpu").obj())
    cache.set_node(usual_node("n2", "b").obj())
    web = make_pod("web").label("app", "web").req(cpu="1").host_port(80).pvc("data")
    cache.add_pod(web.anti_affinity(ZONE, {"app": "web"}).node("n1").obj())
    cache.add_pod(make_pod("ghost").node("missing").obj())
    caches.assume(make_pod("assumed"), "n2")
    table = cache.nodes
    table.allocatable("cpu")
    table.requirement(SSD)
    counts = table.matching(app("web"))
    by_domain = [counts.by_domain(table.topology(ZONE)), counts.by_domain(table.topology(HOSTNAME), Untainted(table))]
    validate(cache)
    yield cache
    del by_domain


def first_row(table: NodeTable) -> int:
    return table.rows["n1"]


def spoil_requested(table: NodeTable) -> None:
    table.requested("cpu").cell[first_row(table)] += 1


def spoil_requested_of_a_free_row(table: NodeTable) -> None:
    table.requested("cpu").cell[table._free[0]] += 1


def spoil_nonzero(table: NodeTable) -> None:
    table.nonzero_requested("memory").cell[first_row(table)] -= 1


def spoil_pod_count(table: NodeTable) -> None:
    table.pod_count.cell[first_row(table)] += 1


def spoil_allocatable(table: NodeTable) -> None:
    table.allocatable("cpu").cell[first_row(table)] += 1


def spoil_allowed_pods(table: NodeTable) -> None:
    table.allowed_pods.cell[first_row(table)] += 1


def spoil_alive(table: NodeTable) -> None:
    table.alive[first_row(table)] = False


def spoil_node_count(table: NodeTable) -> None:
    table.node_count += 1


def spoil_free_rows(table: NodeTable) -> None:
    table._free.append(first_row(table))


def spoil_views(table: NodeTable) -> None:
    table.pod_count.values = table.pod_count.values.copy()


def spoil_unschedulable(table: NodeTable) -> None:
    table.unschedulable[first_row(table)] = True


def spoil_taints(table: NodeTable) -> None:
    table.taints.ids[first_row(table)] = 0


def spoil_requirement(table: NodeTable) -> None:
    table.requirement(SSD)[first_row(table)] = False


def spoil_images(table: NodeTable) -> None:
    table.images._rows["web:v1"][table.rows["n2"]] = 5


def spoil_ports(table: NodeTable) -> None:
    table.sparse.used_ports[table.rows["n2"]] = table.sparse.used_ports[first_row(table)]


def spoil_claims(table: NodeTable) -> None:
    table.sparse.claim_users.clear()


def spoil_affinity_pods(table: NodeTable) -> None:
    table.sparse.affinity_pods.clear()


def spoil_domain(table: NodeTable) -> None:
    zones = table.topology(ZONE)
    zones.cell[first_row(table)] = zones.cell[table.rows["n2"]]


def spoil_domain_ids(table: NodeTable) -> None:
    table.topology(ZONE)._row_count[9] = 1


def spoil_regularity(table: NodeTable) -> None:
    table.topology(HOSTNAME)._irregular.add(first_row(table))


def spoil_matching_pods(table: NodeTable) -> None:
    table.matching(app("web")).per_row.cell[first_row(table)] += 1


def spoil_domain_counts(table: NodeTable) -> None:
    counts = table.matching(app("web")).by_domain(table.topology(ZONE))
    counts.cell[table.topology(ZONE).cell[first_row(table)]] += 1


def spoil_eligible_rows(table: NodeTable) -> None:
    counts = table.matching(app("web")).by_domain(table.topology(HOSTNAME), Untainted(table))
    counts.eligible_rows[0] += 1


def spoil_domain_total(table: NodeTable) -> None:
    table.matching(app("web")).by_domain(table.topology(ZONE)).total += 1


def spoil_terms(table: NodeTable) -> None:
    (term,) = table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    term._listed[table.topology(ZONE).cell[first_row(table)]] += 1


def spoil_term_total(table: NodeTable) -> None:
    (term,) = table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    term.total -= 1


def spoil_term_users(table: NodeTable) -> None:
    (term,) = table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    term.users += 1


def spoil_term_index(table: NodeTable) -> None:
    table.terms(TermKind.REQUIRED_ANTI_AFFINITY)._index.clear()


def spoil_matcher_index(table: NodeTable) -> None:
    table.counts._index.clear()


def spoil_tables_of_class(table: NodeTable) -> None:
    for label_class in table.counts.classes:
        label_class.tables = []


def spoil_other_resources(table: NodeTable) -> None:
    table.amounts_requested.others["example.com/gpu"] = {first_row(table): 1}


def spoil_offering_nodes(table: NodeTable) -> None:
    table.offered._nodes_with["cpu"] += 1


def spoil_labelled_nodes(table: NodeTable) -> None:
    table._labels._nodes_with["disk"] += 1


def spoil_label_class(table: NodeTable) -> None:
    pod = next(iter(table.pods_on[first_row(table)].values()))
    pod.template.label_class = None


def spoil_referenced_keys(table: NodeTable) -> None:
    table.label_keys.release(["app"])


def spoil_log(table: NodeTable) -> None:
    table.log.end += 1


@pytest.mark.parametrize(
    ("spoil", "story"),
    [
        (spoil_requested, r"row 0 \(node n1\): requested cpu is 1001, expected 1000 \(pods there: default/web\)"),
        (spoil_requested_of_a_free_row, r"row 31 \(free\): requested cpu is 1, expected 0"),
        (spoil_nonzero, "nonzero requested memory"),
        (spoil_pod_count, "number of pods is 2, expected 1"),
        (spoil_allocatable, "allocatable cpu is 4001, expected 4000"),
        (spoil_allowed_pods, "allowed pods is 111, expected 110"),
        (spoil_alive, "alive is False, expected True"),
        (spoil_node_count, "number of nodes is 3, expected 2"),
        (spoil_free_rows, "free rows"),
        (spoil_views, "column pod count: shares memory with its view"),
        (spoil_unschedulable, "unschedulable is True"),
        (spoil_taints, "taints"),
        (spoil_requirement, "requirement disk=ssd is False, expected True"),
        (spoil_images, "images: rows by name"),
        (spoil_ports, "used ports that no pod holds"),
        (spoil_claims, "claim users by row"),
        (spoil_affinity_pods, "pods with affinity by row"),
        (spoil_domain, "topology topology.kubernetes.io/zone"),
        (spoil_domain_ids, "number of rows by domain"),
        (spoil_regularity, "one row per domain is False, expected True"),
        (spoil_matching_pods, "matching pods is 2, expected 1"),
        (spoil_domain_counts, "by topology.kubernetes.io/zone: matching pods by domain"),
        (spoil_eligible_rows, "by kubernetes.io/hostname: eligible rows by domain"),
        (spoil_domain_total, "total is 2, expected 1"),
        (spoil_terms, "required anti-affinity term .*: pods by domain"),
        (spoil_term_total, "total is 0, expected 1"),
        (spoil_label_class, "pod default/web: label class"),
        (spoil_referenced_keys, "label keys: selectors by key is {'app': 1}, expected {'app': 2}"),
        (spoil_term_users, "pods with the term is 2, expected 1"),
        (spoil_term_index, "required anti-affinity terms: tables in the index"),
        (spoil_matcher_index, "count tables: matchers in the index"),
        (spoil_tables_of_class, "label class .*: count tables"),
        (spoil_other_resources, "requested example.com/gpu is 1, expected 0"),
        (spoil_offering_nodes, "number of nodes by offered resource"),
        (spoil_labelled_nodes, "number of nodes by label"),
        (spoil_log, "log of changed rows: end"),
    ],
)
def test_a_spoilt_column_is_noticed(cache: Cache, spoil: Callable[[NodeTable], None], story: str) -> None:
    spoil(cache.nodes)
    with pytest.raises(StateInvariantError, match=f"^state is inconsistent: .*{story}"):
        cache.validate_state()


def test_a_record_without_its_pod_on_the_row_is_noticed(cache: Cache) -> None:
    record = next(cache.pods())
    record.node_name = "n2"
    with pytest.raises(StateInvariantError, match=r"pod default/web: pod on the row of node n2 is None.*story: add"):
        cache.validate_state()


def test_a_pod_that_differs_from_its_object_is_noticed(cache: Cache) -> None:
    record = next(cache.pods())
    record.info.pod = make_pod("web").label("app", "other").node("n1").obj()
    with pytest.raises(StateInvariantError, match=r"pod default/web: labels is .*web.*, expected .*other.*"):
        cache.validate_state()


def test_a_record_in_the_wrong_state_is_noticed(cache: Cache) -> None:
    record = next(cache.pods())
    record.life = Life(CachedPodState.ASSUMED)
    with pytest.raises(StateInvariantError, match="number of assumed pods is 1, expected 2"):
        cache.validate_state()


def test_a_pod_on_a_row_without_a_record_is_noticed(cache: Cache) -> None:
    cache.nodes.add_pod(cache.shapes.info(make_pod("smuggled").obj()), "n1")
    with pytest.raises(StateInvariantError, match="number of pods on rows is 4, expected 3"):
        cache.validate_state()


def test_a_sound_state_stays_as_it_is(cache: Cache) -> None:
    generation, end = cache.nodes.generation, cache.nodes.log.end
    cache.validate_state()
    assert (cache.nodes.generation, cache.nodes.log.end) == (generation, end)
