"""Trogdor's specifications: workloads and faults, in the form of Kafka's trunk and in that of pull request 9736."""
