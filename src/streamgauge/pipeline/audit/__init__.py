"""What became of every message, in Spark."""
