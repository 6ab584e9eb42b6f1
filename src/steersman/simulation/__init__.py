# SPDX-License-Identifier: Apache-2.0
"""Simulation: the same scheduler on the embedded cluster in virtual time.

    simulation, trial ─► simulated_cluster ─► virtual_time (driver, writer) ─► scheduler, embedded cluster
           ▲                    ▲
        inputs         result_builder ─► results

`Simulation` is the public API and `Trial` a fork of it; both are facades of a `SimulatedCluster`.
`setup` has its parameters, `journal` its calls, `copies` makes forks, `difference` compares two.

`inputs` and `results` convert data, `pools` has node kinds and prices, `probes` queries for `plan`
and `explain`. `scenario` runs a cluster over time; `processes` and `sweep` run many simulations.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.simulation.difference import (
        Difference as Difference,
        NumberChange as NumberChange,
        diff as diff,
    )
    from steersman.simulation.inputs.object_names import pod_key as pod_key
    from steersman.simulation.inputs.sources import (
        Gathered as Gathered,
        Given as Given,
        ListedObjects as ListedObjects,
        Source as Source,
        gather as gather,
    )
    from steersman.simulation.inputs.storage_classes import DEFAULT_CLASS as DEFAULT_CLASS, PROVISIONER as PROVISIONER
    from steersman.simulation.inputs.workloads import counted as counted
    from steersman.simulation.journal import JournaledCall as JournaledCall
    from steersman.simulation.next_decision import NextDecision as NextDecision
    from steersman.simulation.pools.node_costs import pool_of as pool_of, price_of as price_of
    from steersman.simulation.pools.node_pools import (
        NodePool as NodePool,
        NodePools as NodePools,
        PoolsSource as PoolsSource,
        load_pools as load_pools,
    )
    from steersman.simulation.probes.fill import (
        Filled as Filled,
        NewPod as NewPod,
        fill_nodes as fill_nodes,
        show_owner as show_owner,
    )
    from steersman.simulation.probes.node_probe import NodeProbe as NodeProbe, filters_by as filters_by
    from steersman.simulation.probes.node_trials import FullRun as FullRun, NodeTrials as NodeTrials
    from steersman.simulation.probes.pod_moves import (
        PodEviction as PodEviction,
        PodPlace as PodPlace,
        PodSnapshot as PodSnapshot,
        belongs_to_node as belongs_to_node,
        is_daemon as is_daemon,
        is_recreated as is_recreated,
        match_replacements as match_replacements,
        pod_snapshot as pod_snapshot,
    )
    from steersman.simulation.probes.pod_probe import (
        PodProbe as PodProbe,
        ProbedCycle as ProbedCycle,
        template_of as template_of,
    )
    from steersman.simulation.probes.queue_place import (
        GATED_QUEUE as GATED_QUEUE,
        QueuePlace as QueuePlace,
        find_queue_place as find_queue_place,
        rejecting_plugins as rejecting_plugins,
        terminating_pods as terminating_pods,
    )
    from steersman.simulation.processes import run_in_processes as run_in_processes
    from steersman.simulation.report import node_groups as node_groups, simulation_report as simulation_report
    from steersman.simulation.results.confidence import Estimate as Estimate, estimate as estimate
    from steersman.simulation.results.explanation_recorder import Progress as Progress
    from steersman.simulation.results.frames import FrameTable as FrameTable, Row as Row
    from steersman.simulation.results.notes import PASSED_OVER as PASSED_OVER
    from steersman.simulation.results.placements import (
        REASON_BINDING as REASON_BINDING,
        REASON_GATED as REASON_GATED,
        REASON_NO_PROFILE as REASON_NO_PROFILE,
        REASON_WAITING as REASON_WAITING,
        Placement as Placement,
        PlacementReport as PlacementReport,
    )
    from steersman.simulation.results.result import Result as Result, Summary as Summary
    from steersman.simulation.results.series import Series as Series
    from steersman.simulation.results.utilisation import Usage as Usage, Utilisation as Utilisation
    from steersman.simulation.setup import (
        Configuration as Configuration,
        SimulationSetup as SimulationSetup,
        check_plugins as check_plugins,
    )
    from steersman.simulation.simulation import Simulation as Simulation
    from steersman.simulation.trial import Trial as Trial
    from steersman.simulation.virtual_time.driver import Driver as Driver
    from steersman.simulation.virtual_time.events import Event as Event
    from steersman.simulation.virtual_time.extenders import real_time_extenders as real_time_extenders
    from steersman.simulation.virtual_time.loop import VirtualLoop as VirtualLoop
    from steersman.simulation.virtual_time.tasks import SimulationError as SimulationError
    from steersman.simulation.virtual_time.writer import (
        EmbeddedWriter as EmbeddedWriter,
        EventWriter as EventWriter,
        Preemption as Preemption,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "results.confidence": "Estimate estimate",
            "difference": "Difference NumberChange diff",
            "virtual_time.driver": "Driver",
            "virtual_time.events": "Event",
            "results.explanation_recorder": "Progress",
            "virtual_time.extenders": "real_time_extenders",
            "probes.fill": "Filled NewPod fill_nodes show_owner",
            "results.frames": "FrameTable Row",
            "journal": "JournaledCall",
            "virtual_time.loop": "VirtualLoop",
            "next_decision": "NextDecision",
            "pools.node_costs": "pool_of price_of",
            "pools.node_pools": "NodePool NodePools PoolsSource load_pools",
            "probes.node_probe": "NodeProbe filters_by",
            "probes.node_trials": "FullRun NodeTrials",
            "results.notes": "PASSED_OVER",
            "inputs.object_names": "pod_key",
            "results.placements": (
                "Placement PlacementReport REASON_BINDING REASON_GATED REASON_NO_PROFILE REASON_WAITING"
            ),
            "probes.pod_moves": (
                "PodEviction PodPlace PodSnapshot belongs_to_node is_daemon is_recreated "
                "match_replacements pod_snapshot"
            ),
            "probes.pod_probe": "PodProbe ProbedCycle template_of",
            "processes": "run_in_processes",
            "probes.queue_place": ("GATED_QUEUE QueuePlace find_queue_place rejecting_plugins terminating_pods"),
            "report": "node_groups simulation_report",
            "results.result": "Result Summary",
            "results.series": "Series",
            "setup": "Configuration SimulationSetup check_plugins",
            "simulation": "Simulation",
            "inputs.sources": "Gathered Given ListedObjects Source gather",
            "inputs.storage_classes": "DEFAULT_CLASS PROVISIONER",
            "virtual_time.tasks": "SimulationError",
            "trial": "Trial",
            "results.utilisation": "Usage Utilisation",
            "inputs.workloads": "counted",
            "virtual_time.writer": "EmbeddedWriter EventWriter Preemption",
        },
    )
