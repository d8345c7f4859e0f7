"""Policies that hold producers back: pure functions from what was seen to what is decided."""
