# SPDX-License-Identifier: Apache-2.0
"""How a pod is evaluated against all nodes: signatures, columns, the choice, and the reports. One room; read in this order.

| module | what it holds |
|---|---|
| `plan` | how each plugin of a profile is asked: by kernel, by promise, or live; decided once; the kernels of promises |
| `columns` | answers of one kernel for every row, and scores that are relative to the greatest |
| `best_rows` | the rows with the greatest total |
| `row_groups` | the same where cluster kernels treat rows alike: one verdict and one score for each group of rows |
| `totals_digest` | a number by which totals of all rows are compared, for records |
| `row_totals` | columns combined: which rows pass what looks at one node, and their weighted totals, kept exact |
| `signature` | feasible and best rows of pods that all plugins treat alike; what volume claims lay on top; which are kept |
| `signatures` | which signature a pod has |
| `live_plugins` | plugins that are asked in every cycle: PreFilter by kept answers, filters without a vector form |
| `local_filters` | filters that look at one node only; room for pods that are nominated |
| `sampling` | an explicit percentageOfNodesToScore |
| `evaluation` | what an evaluation yields |
| `columnar` | the evaluation by columns |
| `scalar` | the same by asking plugins node by node: the twin that can be checked by eye |
| `report` | why nodes were rejected, and every score |
| `validation` | computes again what is kept, and compares |
"""
