"""The scheduler's picture of the cluster. The only package that owns arrays."""
