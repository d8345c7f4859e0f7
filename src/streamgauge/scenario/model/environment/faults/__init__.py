"""Faults to inject into a run, a module for each kind of target."""
