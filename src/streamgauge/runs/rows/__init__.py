"""Rows that only the parent of a run can write, also where it was killed."""
