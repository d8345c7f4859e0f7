"""Commands on Kafka itself: embedded brokers, and the topics of runs."""
