# SPDX-License-Identifier: Apache-2.0
"""Fixes of pending pods: the smallest changes that make a pod schedule, each tried on a fork before it is shown.

    simulation = Simulation.load("cluster.yaml")      # loaded, not yet run
    for fix in find_fixes(simulation, "default/web-0"):
        print(fix.summary, *fix.commands, sep="\\n")

Read `search` first. `proposals` says which changes could help, with a module for each kind (`pod_changes`, `requests`,
`host_ports`, `volume_changes`, `device_changes`, `node_changes`, `new_node`, `object_changes`, `moves`); `verification` tries
them, with what webhooks add to pods (`injected_fields`), the other pods of a workload (`workload_pods`) and Jobs that begin
again (`job_restart`); `changes` has what a change is, `fix_writer` writes patches and `commands` commands, `text` prints.
"""

from steersman.fixes.fix import Fix, FixKind, ObjectDeletion, ObjectName, ObjectPatch, PodMove
from steersman.fixes.fix_writer import DocumentSource, without_partial_patches
from steersman.fixes.object_changes import suspended_job
from steersman.fixes.search import find_fixes
from steersman.fixes.text import fixes_text

__all__ = [
    "DocumentSource",
    "Fix",
    "FixKind",
    "ObjectDeletion",
    "ObjectName",
    "ObjectPatch",
    "PodMove",
    "find_fixes",
    "fixes_text",
    "suspended_job",
    "without_partial_patches",
]
