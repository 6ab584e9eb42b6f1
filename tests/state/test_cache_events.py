# SPDX-License-Identifier: Apache-2.0
"""Watch events, in order and out of order."""

from __future__ import annotations

import pytest
from tests.state.caches import Caches
from tests.state.tables import usual_node

from steersman.scheduler.state.pod_lifecycle import CachedPodState, CacheError
from steersman.testing import PodBuilder, make_namespace, make_pod

POD = make_pod("web").req(cpu="1").label("app", "web")


@pytest.fixture
def caches() -> Caches:
    made = Caches()
    made.cache.set_node(usual_node("n1").obj())
    made.cache.set_node(usual_node("n2").obj())
    return made


class TestAdditions:
    def test_a_pod_appears_on_its_node(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        assert caches.requested("n1") == 1000
        record = caches.cache.get(POD.obj().metadata.uid)
        assert record is not None
        assert (record.state, record.node_name) == (CachedPodState.ADDED, "n1")
        assert [r.info.name for r in caches.cache.pods()] == ["web"]

    def test_an_assumed_pod_is_confirmed_where_it_is(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        rows = caches.cache.nodes.log.end
        caches.cache.add_pod(POD.node("n1").phase("Running").obj())
        assert not caches.cache.is_assumed(info.uid)
        assert caches.requested("n1") == 1000
        assert info.pod.status.phase == "Running", "the object is the newest"
        assert caches.cache.nodes.log.end == rows, "no column has changed"
        caches.cache.validate_state()

    @pytest.mark.parametrize(
        "pod", [POD, POD.host_port(80), POD.anti_affinity("zone", {"app": "web"}), POD.pvc("data")]
    )
    def test_a_pod_that_gets_the_zone_of_its_node_keeps_its_room(self, caches: Caches, pod: PodBuilder) -> None:
        info, other = caches.assume(pod, "n1"), caches.assume(make_pod("other").req(cpu="1"), "n1")
        rows = caches.cache.nodes.log.end
        caches.cache.add_pod(pod.label("topology.kubernetes.io/zone", "a").node("n1").obj())
        record = caches.cache.get(info.uid)
        assert record is not None
        assert record.info.labels == {"app": "web", "topology.kubernetes.io/zone": "a"}
        assert record.info.shape is info.shape
        assert caches.requested("n1") == 2000
        assert caches.cache.nodes.log.end == rows + 1, "the node is looked at again, once"
        assert list(caches.cache.nodes.pods_on[caches.cache.nodes.rows["n1"]]) == [other.uid, info.uid]
        caches.cache.validate_state()

    def test_an_assumed_pod_turns_up_on_another_node(self, caches: Caches) -> None:
        caches.assume(POD, "n1")
        caches.cache.add_pod(POD.node("n2").obj())
        assert (caches.requested("n1"), caches.requested("n2")) == (0, 1000)
        caches.cache.validate_state()

    def test_an_assumed_pod_turns_up_changed(self, caches: Caches) -> None:
        caches.assume(POD, "n1")
        caches.cache.add_pod(POD.label("tier", "1").req(cpu="2").node("n1").obj())
        assert caches.requested("n1") == 3000
        caches.cache.validate_state()

    def test_a_repeated_addition_is_refused(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        with pytest.raises(CacheError, match="after: add"):
            caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.validate_state()

    def test_a_pod_of_an_unknown_node_waits_for_it(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n3").obj())
        assert caches.cache.nodes.row_of("n3") is None
        caches.cache.set_node(usual_node("n3").obj())
        assert caches.requested("n3") == 1000
        caches.cache.validate_state()

    def test_two_pods_of_one_name_are_distinguished_by_uid(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.uid("first").node("n1").obj())
        caches.cache.add_pod(POD.uid("second").node("n1").obj())
        assert caches.requested("n1") == 2000
        caches.cache.remove_pod(POD.uid("first").node("n1").obj())
        assert caches.requested("n1") == 1000
        caches.cache.validate_state()


class TestUpdates:
    def test_changed_requests_change_the_columns(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.update_pod(make_pod("web").req(cpu="3").node("n1").obj())
        assert caches.requested("n1") == 3000
        caches.cache.validate_state()

    def test_changed_labels_change_what_selectors_match(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.update_pod(POD.label("app", "db").node("n1").obj())
        caches.cache.validate_state()

    def test_a_pod_that_begins_to_terminate_is_another_label_class(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.update_pod(POD.terminating().node("n1").obj())
        record = caches.cache.get(POD.obj().metadata.uid)
        assert record is not None
        assert record.info.is_terminating
        caches.cache.validate_state()

    def test_a_pod_that_moves_takes_its_room_along(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.update_pod(POD.node("n2").obj())
        assert (caches.requested("n1"), caches.requested("n2")) == (0, 1000)
        caches.cache.validate_state()

    def test_a_status_update_touches_no_row(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        end = caches.cache.nodes.log.end
        caches.cache.update_pod(POD.node("n1").phase("Running").obj())
        assert caches.cache.nodes.log.end == end

    @pytest.mark.parametrize("changed", [POD.annotation("note", "x"), POD.priority(5)])
    def test_what_plugins_may_look_at_touches_the_row(self, caches: Caches, changed: PodBuilder) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        end = caches.cache.nodes.log.end
        caches.cache.update_pod(changed.node("n1").obj())
        assert list(caches.cache.nodes.log.since(end) or ()) == [caches.cache.nodes.rows["n1"]]
        caches.cache.validate_state()

    def test_a_start_time_is_distinguished_from_what_filters_and_scores_look_at(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        table = caches.cache.nodes
        end, started = table.log.end, table.start_log.end
        caches.cache.update_pod(POD.node("n1").started("2030-01-01T00:00:00Z").obj())
        assert table.log.end == end
        assert list(table.start_log.since(started) or ()) == [table.rows["n1"]]
        caches.cache.validate_state()

    def test_an_update_of_an_unknown_pod_is_refused(self, caches: Caches) -> None:
        with pytest.raises(CacheError, match='pod default/web: "update" cannot happen to a pod that is absent'):
            caches.cache.update_pod(POD.node("n1").obj())

    def test_an_update_of_an_assumed_pod_is_refused(self, caches: Caches) -> None:
        caches.assume(POD, "n1")
        with pytest.raises(CacheError, match="a pod that is assumed"):
            caches.cache.update_pod(POD.node("n1").obj())
        caches.cache.validate_state()


class TestRemovals:
    def test_a_removed_pod_gives_its_room_back(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.remove_pod(POD.node("n1").obj())
        assert caches.requested("n1") == 0
        assert caches.cache.pod_count == 0
        caches.cache.validate_state()

    def test_a_stale_object_of_the_pod_is_enough(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.remove_pod(POD.label("app", "stale").node("n2").obj())
        assert caches.requested("n1") == 0
        caches.cache.validate_state()

    def test_an_assumed_pod_may_be_deleted_before_it_was_seen(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        caches.cache.remove_pod(POD.node("n1").obj())
        assert not caches.cache.is_assumed(info.uid)
        assert caches.requested("n1") == 0
        caches.cache.validate_state()

    def test_a_repeated_removal_is_refused(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.remove_pod(POD.node("n1").obj())
        with pytest.raises(CacheError, match="a pod that is absent"):
            caches.cache.remove_pod(POD.node("n1").obj())

    def test_pods_outlive_their_node(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.remove_node(usual_node("n1").obj())
        assert caches.cache.pod_count == 1
        caches.cache.validate_state()
        caches.cache.remove_pod(POD.node("n1").obj())
        assert "n1" not in caches.cache.nodes.rows
        caches.cache.validate_state()

    def test_an_unknown_node_cannot_be_removed(self, caches: Caches) -> None:
        with pytest.raises(KeyError):
            caches.cache.remove_node(usual_node("n9").obj())


def test_namespaces_have_the_labels_of_their_objects(caches: Caches) -> None:
    assert caches.cache.namespace_labels("shop") == {}
    caches.objects.put(make_namespace("shop").label("team", "a").obj())
    assert caches.cache.namespace_labels("shop") == {"team": "a"}
