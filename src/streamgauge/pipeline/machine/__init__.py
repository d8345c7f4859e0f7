"""What the run used: processes, garbage collectors, clients, connections."""
