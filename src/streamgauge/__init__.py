"""Streamgauge measures what an event stream on Apache Kafka really delivers."""
