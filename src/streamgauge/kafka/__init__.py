"""Clients, topics and offsets of a cluster, over confluent-kafka."""
