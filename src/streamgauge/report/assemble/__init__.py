"""From tables to the sections of result.json."""
