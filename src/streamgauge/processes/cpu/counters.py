"""Counters of threads."""


def risen(now: int, before: int) -> int:
    """How far a counter of a thread rose; its number may come again as that of another thread, which began at 0."""
    return now - before if now >= before else now
