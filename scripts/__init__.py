"""What developers and releases run beside the package: `python -m scripts.NAME`. Nothing here is shipped."""
