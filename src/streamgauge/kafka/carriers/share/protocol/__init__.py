"""Requests about share groups in the form in which Kafka describes its messages: kafka-python has none of them."""
