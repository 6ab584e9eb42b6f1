"""The HTTPS server of a running scheduler: health, metrics and debugging, with delegated access control."""
