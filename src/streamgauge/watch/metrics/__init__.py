"""Metrics of a run for Prometheus: their names, the endpoint, rules, and a dashboard for Grafana."""
