"""What a cluster says of its partitions, its brokers and its controller, and what can be changed there."""
