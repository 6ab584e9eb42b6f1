# SPDX-License-Identifier: Apache-2.0
"""Results of a simulation: where pods are, how full nodes are, and how both changed over time.

Read `result`; `simulation.result_builder` makes it. `placements`, `utilisation` and `series` are parts of a result; `frames`
and `notebook` show it; `confidence` compares results of several seeds; `explanation_recorder` explains decisions. May import
`virtual_time`, which samples for `series` and `placements`, `inputs` and `node_pools`.
"""
