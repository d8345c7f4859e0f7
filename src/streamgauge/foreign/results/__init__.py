"""Results of other tools: recognised by their content, and read into plain values."""
