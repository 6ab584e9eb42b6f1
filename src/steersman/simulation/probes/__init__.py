# SPDX-License-Identifier: Apache-2.0
"""Queries of forks of a simulation, for `plan` and `explain`: does a pod fit, how many pods fit,
which nodes suffice?

`pod_probe` is about one pod, `fill` about many, `node_probe` and `node_trials` about nodes,
`pod_moves` about pods that move. May import everything in `simulation` except `scenario` and
`sweep`.
"""
