"""What surrounds the load: the embedded cluster, faults, and connections beside it."""
