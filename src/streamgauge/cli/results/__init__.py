"""Commands that read results: of one run after the other, and of several together."""
