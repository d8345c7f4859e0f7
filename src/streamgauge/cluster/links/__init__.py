"""Links between clients and brokers, and between nodes, that faults of the network are done to: TCP proxies."""
