# SPDX-License-Identifier: Apache-2.0
"""A chaos run: two replicas of a scheduler on a real control plane, random faults from a seed, a judgement at the end.

`python -m tests.chaos --minutes 30 --seed 7` (or `make chaos`). In the order of a run: `fault_schedule` decides before the
start what goes wrong when; `chaos_run` starts `replicas` and the load (`tenants` with `pod_templates`, `node_operator`,
`kubelets`) and carries the schedule out (`fault_injection`, `hostile_objects`, `hostile_clients`); `audit_trail` and
`lease_history` read what the API server wrote down; `run_measures` and `judgement` decide, `chaos_report` shows.
"""
