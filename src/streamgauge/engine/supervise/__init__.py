"""The supervisor: it starts the workers, injects faults, and ends the run."""
