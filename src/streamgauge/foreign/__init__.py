"""What other tools write: their specifications and their results."""
