"""The gold tables: one schema per table."""
