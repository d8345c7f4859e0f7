"""A page of all runs below a folder: files that need no server, from run.json and result.json of each run."""
