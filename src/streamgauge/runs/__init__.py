"""One run, its analysis, and its report: the only place where the rooms below meet."""
