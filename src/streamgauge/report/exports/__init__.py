"""Files of results for other programs: CSV, logs, and formats of other tools."""
