# SPDX-License-Identifier: Apache-2.0
"""Fixes of pending pods: the smallest changes that make a pod schedule, each tried on a fork.

    simulation = Simulation.load("cluster.yaml")      # loaded, not yet run
    for fix in find_fixes(simulation, "default/web-0"):
        print(fix.summary, *fix.commands, sep="\\n")

Read `search` first. `proposals` says which changes may help, with a module for each kind
(`pod_changes`, `requests`, `host_ports`, `volume_changes`, `device_changes`, `node_changes`,
`new_node`, `object_changes`, `moves`). `verification` tries them, with the fields that webhooks add
to pods (`injected_fields`), the other pods of a workload (`workload_pods`) and restarted Jobs
(`job_restart`), first without `unrelated_pods`. `changes` defines a change, `fix_writer` writes
patches, `commands` commands; `explain.text` renders fixes.
"""

from steersman.explain.fixes.fix import Fix, FixKind, ObjectDeletion, ObjectName, ObjectPatch, PodMove
from steersman.explain.fixes.fix_writer import DocumentSource, without_partial_patches
from steersman.explain.fixes.object_changes import suspended_job
from steersman.explain.fixes.pod_changes import gates_text
from steersman.explain.fixes.search import find_fixes

__all__ = [
    "DocumentSource",
    "Fix",
    "FixKind",
    "ObjectDeletion",
    "ObjectName",
    "ObjectPatch",
    "PodMove",
    "find_fixes",
    "gates_text",
    "suspended_job",
    "without_partial_patches",
]
