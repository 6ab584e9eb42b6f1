# SPDX-License-Identifier: Apache-2.0
"""Counts of volumes near a limit are those that a fresh look gives, whatever has happened; forks go on with them."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.node_volume_limits.limit_stories import DISK, EBS, EVENTS, begun
from tests.plugins.volume_columns.stories import Event, Story

from steersman import api
from steersman.scheduler.plugins.node_volume_limits.attachments import Attachments
from steersman.scheduler.plugins.node_volume_limits.counted_rows import CountedRows
from steersman.simulation import Simulation
from steersman.testing import make_claim, make_csi_node, make_node, make_pod, make_volume


class _Followed:
    """Counts that follow a story as the columns do."""

    def __init__(self, story: Story) -> None:
        self.view = story.cluster.cache.nodes
        self.counts = CountedRows(self.view, story.cluster.objects, Attachments(story.cluster.objects))
        self._position = self.view.log.end

    def catch_up(self, rows: list[int]) -> None:
        self.counts.forget(self.view.log.since(self._position))
        self._position = self.view.log.end
        self.counts.catch_up(rows)


@examples(80)
@given(st.lists(st.tuples(EVENTS, st.sets(st.integers(0, 2), min_size=1)), max_size=30))
def test_counts_are_those_of_a_fresh_look(events: list[tuple[Event, set[int]]]) -> None:
    story = begun()
    followed = _Followed(story)
    for event, asked in events:
        event(story)
        rows = [row for row in followed.view.live_rows() if row in asked]
        followed.catch_up(rows)
        fresh = {row: followed.counts.count(row) for row in rows}
        assert followed.counts.faults(rows) == {r: count.fault for r, count in fresh.items() if count.fault is not None}
        for driver in (EBS, DISK, "nobody.example.com"):
            column = followed.counts.of_driver(driver)
            assert [column[row] for row in rows] == [fresh[row].by_driver.get(driver, 0) for row in rows]
        in_use = Counter((volume, row) for row, count in fresh.items() for volume in count.in_use)
        volumes = {volume for volume, _ in in_use}
        found = Counter(
            (volume, row) for volume in volumes for row in followed.counts.rows_using(volume) if row in asked
        )
        assert found == in_use


def test_columns_of_drivers_without_a_limit_are_dropped() -> None:
    story = begun()
    followed = _Followed(story)
    rows = list(followed.view.live_rows())
    followed.catch_up(rows)
    before = followed.counts.of_driver(EBS)
    followed.counts.keep_drivers([DISK])
    after = followed.counts.of_driver(EBS)
    assert before is not after
    assert before.tolist() == after.tolist()


def _full_cluster() -> Simulation:
    """Two nodes that take one volume each and have it, and a pod that waits because of that."""
    objects: list[api.Object] = []
    for name in ("n1", "n2"):
        objects.append(make_node(name).capacity(cpu="8", pods="20").obj())
        objects.append(make_csi_node(name).driver(DISK, limit=1).obj())
    for name in ("a", "b", "c"):
        claim = make_claim(name).asks("1Gi").bound(name)
        objects += (claim.obj(), make_volume(name).offers("1Gi").csi(DISK, name).claimed(claim).phase("Bound").obj())
    objects += (make_pod("on-n1").pvc("a").node("n1").obj(), make_pod("on-n2").pvc("b").node("n2").obj())
    return Simulation.load(*objects, make_pod("waits").pvc("c").obj())


def test_a_fork_goes_on_with_the_counts_and_the_origin_does_not_notice() -> None:
    origin = _full_cluster()
    origin.internals.prepare_forks("default/waits")
    with origin.fork() as fork:
        assert "exceed max volume count" in fork.run().placements["default/waits"].message
        fork.delete("pod/default/on-n2")
        assert fork.run().placements["default/waits"].node == "n2"
    assert origin.run().pending.keys() == {"default/waits"}
