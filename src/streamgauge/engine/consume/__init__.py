"""The consume loop, and what it is made of."""
