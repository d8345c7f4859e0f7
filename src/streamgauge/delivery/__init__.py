"""What counts as delivered once, lost, duplicate or reordered."""
