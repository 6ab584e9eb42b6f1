# SPDX-License-Identifier: Apache-2.0
"""Fixes of pending pods: the smallest changes that make a pod schedule, each tried on a fork.

    simulation = Simulation.load("cluster.yaml")      # loaded, not yet run
    for fix in find_fixes(simulation, "default/web-0"):
        print(fix.summary, *fix.commands, sep="\\n")

Read `search` first. `proposals` says which changes may help, with a module for each kind
(`pod_changes`, `container_changes`, `volume_changes`, `device_changes`, `node_changes`,
`new_node`, `group_changes`, `object_changes`, `moves`). `verification` tries them, with the fields
that webhooks add to pods (`injected_fields`), the other pods of a workload and restarted Jobs
(`workload_pods`), first without `unrelated_pods`. `changes` defines a change, `fix_writer` writes
patches, `commands` commands; `explain.text` renders fixes.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "fix": "Fix FixKind ObjectDeletion ObjectName ObjectPatch PodMove",
        "fix_writer": "DocumentSource without_partial_patches",
        "object_changes": "suspended_job",
        "pod_changes": "gates_text",
        "search": "find_fixes",
    },
)
