"""Spark: events -> messages -> tables, as named pure steps over frames."""
