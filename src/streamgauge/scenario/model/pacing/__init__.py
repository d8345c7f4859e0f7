"""The rate of a load and its shapes over time, and the pace of consumers."""
