"""One run on a cluster, from a request to a run folder with its rows."""
