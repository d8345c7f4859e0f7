"""The parts of a scenario: every field, its default, and its meaning."""
