"""Which figures of a run may be believed: an interval for each, and a verdict in parts."""
