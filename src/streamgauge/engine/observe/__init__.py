"""What is observed while a run runs: processes, lag, tables, and the live view."""
