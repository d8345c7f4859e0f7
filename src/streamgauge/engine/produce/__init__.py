"""The produce loop, and what it is made of."""
