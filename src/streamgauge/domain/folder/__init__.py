"""The run folder as others may read it: paths, run.json, and the shared cells of a run."""
