# SPDX-License-Identifier: Apache-2.0
"""Simulation: the same scheduler on the embedded cluster in virtual time.

    simulation, trial ─► simulated_cluster ─► virtual_time (driver, writer) ─► scheduler, embedded cluster
           ▲                    ▲
        inputs         result_builder ─► results

`Simulation` is the public API and `Trial` a fork of it; both are facades of a `SimulatedCluster`.
`setup` has its parameters, `journal` its calls, `copies` makes forks, `difference` compares two.

`inputs` and `results` convert data, `node_pools` has kinds of nodes and prices, `probes` queries
for `plan` and `explain`. `scenario` runs a cluster over time; `processes` and `sweep` run many
simulations.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "difference": "Difference NumberChange diff",
        "inputs.intake": "DEFAULT_CLASS PROVISIONER",
        "inputs.object_names": "pod_key",
        "inputs.sources": "Gathered Given ListedObjects Source gather",
        "inputs.workloads": "counted",
        "journal": "JournaledCall",
        "next_decision": "NextDecision",
        "node_pools": "NodePool NodePools PoolsSource load_pools pool_of price_of",
        "probes.fill": "FillResult NewPod fill_nodes show_owner",
        "probes.node_probe": "NodeProbe filters_by",
        "probes.node_trials": "FullRun NodeTrials",
        "probes.pod_moves": (
            "PodEviction PodPlace PodSnapshot belongs_to_node is_daemon is_recreated match_replacements pod_snapshot"
        ),
        "probes.pod_probe": (
            "GATED_QUEUE PodProbe ProbedCycle QueuePlace find_queue_place missing_permission rejecting_plugins "
            "template_of terminating_pods"
        ),
        "processes": "run_in_processes",
        "report": "node_groups simulation_report",
        "result_builder": "PASSED_OVER",
        "results.confidence": "Estimate estimate",
        "results.explanation_recorder": "Progress",
        "results.frames": "FrameTable Row",
        "results.groups": "GroupResult",
        "results.placements": "Placement PlacementReport REASON_BINDING REASON_GATED REASON_NO_PROFILE REASON_WAITING",
        "results.result": "Result Summary",
        "results.series": "Series",
        "results.utilisation": "Usage Utilisation",
        "setup": "Configuration SimulationSetup check_plugins",
        "simulation": "Simulation",
        "trial": "Trial",
        "virtual_time.driver": "Driver",
        "virtual_time.extenders": "real_time_extenders",
        "virtual_time.tasks": "SimulationError VirtualLoop",
        "virtual_time.writer": "EmbeddedWriter Event EventWriter Preemption",
    },
)
