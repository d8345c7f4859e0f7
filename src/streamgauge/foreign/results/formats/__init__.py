"""One module for each format: whether a file has it, and what it says."""
