"""Searching the largest or smallest value of a setting at which objectives hold. Pure."""
