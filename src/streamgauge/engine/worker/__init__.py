"""One worker process, and the job of each role."""
