# SPDX-License-Identifier: Apache-2.0
"""The time series of a run: what they say, how many moments they have, and that forks go on with them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.simulation.busy_clusters import busy_cluster
from tests.simulation.clusters import a_node, a_pod, nodes, pods

from steersman.base.errors import InputError
from steersman.simulation import Simulation
from steersman.simulation.node_pools import POOL_LABEL, PRICE_ANNOTATION
from steersman.simulation.results.series import MAX_SAMPLES, Series


def _short(name: str, seconds: int, cpu: str = "1") -> Any:
    return a_pod(name, cpu).annotation("steersman.dev/run-seconds", str(seconds)).obj()


def test_utilisation_falls_when_pods_end() -> None:
    series = Simulation.load(nodes("n1"), _short("one", 10), _short("two", 20, cpu="2")).run().series
    assert series.times == [0.0, 10.0, 20.0]
    assert series.utilisation["cpu"] == [0.75, 0.5, 0.0]
    assert series.utilisation["pods"] == [0.2, 0.1, 0.0]


def test_the_last_moment_of_the_series_is_that_of_the_result() -> None:
    simulation = busy_cluster()
    result = simulation.run(until=50)
    assert result.series.times[-1] == result.summary.seconds == 50.0
    last = {name: values[-1] for name, values in result.series.utilisation.items()}
    expected = {name: usage.fraction for name, usage in result.utilisation.cluster.items() if name in last}
    assert last == expected


def test_every_pool_has_its_own_utilisation_and_nodes_have_their_price() -> None:
    cheap = a_node("n1", cpu="2").label(POOL_LABEL, "cheap").label(PRICE_ANNOTATION, "0.25").obj()
    dear = a_node("n2", cpu="8").label(POOL_LABEL, "dear").label(PRICE_ANNOTATION, "1.5").obj()
    simulation = Simulation.load(cheap, dear, a_pod("web", cpu="2").node("n2").obj())
    simulation.run(until=3600)
    series = simulation.delete("node/n2").run(until=7200).series
    assert series.by_pool["cheap"]["cpu"] == [0.0] * len(series)
    assert (series.by_pool["dear"]["cpu"][0], series.by_pool["dear"]["cpu"][-1]) == (0.25, 0.0)
    assert (series.cost[0], series.cost[-1]) == (1.75, 0.25)
    assert series.total_cost == pytest.approx(1.75 + 0.25)


def test_a_price_that_is_none_is_refused_with_the_node_that_has_it() -> None:
    with pytest.raises(InputError, match=r"Node n1: metadata\.labels\[steersman\.dev/price-per-hour\]: is not a price"):
        Simulation.load(a_node("n1").label(PRICE_ANNOTATION, "free").obj())


def test_pending_pods_count_for_the_plugins_that_rejected_them() -> None:
    gated = a_pod("gated").gate("example.com/wait").obj()
    series = Simulation.load(nodes("n1"), pods(6), gated).run().series
    assert series.pending == {"NodeResourcesFit": [2], "SchedulingGates": [1]}
    assert {lane: counts[-1] for lane, counts in series.lanes.items() if counts[-1]} == {"unschedulable": 2, "gated": 1}


def test_waiting_times_are_those_of_the_pods_that_have_got_a_node() -> None:
    simulation = Simulation.load(nodes("n1"), _short("first", 30, cpu="4"), a_pod("second", cpu="4").obj())
    series = simulation.run().series
    assert series.times == [0.0, 30.0]
    assert (series.waiting.p50[0], series.waiting.p99[0]) == (0.0, 0.0)
    assert (series.waiting.p50[-1], series.waiting.p99[-1]) == pytest.approx((0.0, 30.0))


def test_a_pod_that_comes_later_waits_from_then_on() -> None:
    simulation = Simulation.load(nodes("n1"), _short("first", 100, cpu="4"))
    simulation.run(until=60)
    series = simulation.add(a_pod("late", cpu="4").obj()).run().series
    assert series.waiting.p99[-1] == pytest.approx(40.0, abs=0.5)


def test_fragmentation_is_what_is_free_where_no_waiting_pod_fits() -> None:
    cluster = [a_node(name, cpu="4").obj() for name in ("n1", "n2", "n3")]
    simulation = Simulation.load(
        cluster, [a_pod(f"p{n}", cpu="3").obj() for n in range(2)], a_pod("p3", cpu="1").node("n3").obj()
    )
    assert simulation.run().series.fragmentation == {}
    series = simulation.add(a_pod("large", cpu="4").obj()).run().series
    assert series.fragmentation["cpu"][-1] == pytest.approx((1 + 1 + 3) / 12)
    series = simulation.add(a_node("n4", cpu="2").obj()).run().series
    assert series.fragmentation["cpu"][-1] == pytest.approx((1 + 1 + 3 + 2) / 14)


def test_the_number_of_samples_is_limited_and_the_first_stays() -> None:
    simulation = Simulation.load(nodes("n1"), _short("first", 1))
    for second in range(1, 2 * MAX_SAMPLES + 7):
        simulation.advance(until=float(second))
    series = simulation.result().series
    assert MAX_SAMPLES // 2 <= len(series) <= MAX_SAMPLES + 1
    assert series.times[0] == 0.0
    assert series.times[-1] == simulation.now
    assert series.times == sorted(set(series.times))


def test_a_fork_goes_on_with_the_series_of_its_origin() -> None:
    origin = busy_cluster()
    before = origin.run(until=30).series
    fork = origin.fork()
    assert fork.result().series == before
    assert fork.run(until=90).series == origin.run(until=90).series


def test_series_travel_with_results() -> None:
    series = busy_cluster().run(until=30).series
    again = pickle.loads(pickle.dumps(series))
    assert isinstance(again, Series)
    assert again == series
