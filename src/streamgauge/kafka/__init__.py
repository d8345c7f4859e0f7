"""Everything that knows that a broker exists: jars, embedded broker, topics, clients, offsets."""
