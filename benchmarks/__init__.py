# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the scheduler. `python -m benchmarks` prints the tables; nothing here is asserted by tests."""
