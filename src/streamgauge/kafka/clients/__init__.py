"""Clients of the engine over confluent-kafka."""
