"""What all figures share: axes, marks, colours, data over time."""
