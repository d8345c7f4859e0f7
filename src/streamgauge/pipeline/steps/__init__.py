"""The steps from the parts of a run to its tables."""
