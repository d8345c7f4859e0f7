"""When messages are due, what they contain, and how long their processing takes: arithmetic only."""
