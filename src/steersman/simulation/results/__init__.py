# SPDX-License-Identifier: Apache-2.0
"""Results of a simulation: placements of pods, utilisation of nodes, and both over time.

Read `result` first; `simulation.result_builder` creates it. `placements`, `utilisation` and
`series` are parts of a result; `frames` and `notebook` display it; `confidence` compares results of
several seeds; `explanation_recorder` explains decisions. May import `virtual_time`, which samples
for `series` and `placements`, `inputs` and `node_pools`.
"""
