"""Conduct one run, and analyse it: the only place where engine, clients, files, Spark and reports meet."""
