"""Aggregates over messages: buckets and histograms of latencies, exact sums, and the curves made from them."""
