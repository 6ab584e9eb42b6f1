"""Steersman: the Kubernetes scheduler as a Python package."""
