"""Buckets of latencies, and the percentiles and moments that are computed from them."""
