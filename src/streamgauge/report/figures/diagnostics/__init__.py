"""Figures of what lies behind the others: machine, clients, partitions, and what went wrong."""
