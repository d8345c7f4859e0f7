"""Lag, messages outstanding, backpressure, and recovery."""
