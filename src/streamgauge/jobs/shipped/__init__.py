"""The jobs that are shipped, by name."""
