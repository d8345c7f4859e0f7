"""Searches: the highest rate, or another setting, at which objectives hold, found by runs one after the other."""
