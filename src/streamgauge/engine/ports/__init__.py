"""What the engine needs from the outside, as small protocols: clients, sinks, queries, and where workers run."""
