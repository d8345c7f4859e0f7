"""What is shown while a run runs: a live view, lines for a log, and metrics to be scraped."""
