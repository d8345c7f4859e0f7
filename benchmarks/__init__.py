"""Benchmarks of the tool itself: each prints its command, the machine, medians with ranges, and the comparison."""
