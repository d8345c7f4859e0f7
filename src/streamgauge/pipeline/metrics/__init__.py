"""Latencies and rates: histograms, sums, and the tables made of them."""
