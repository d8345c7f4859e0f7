"""Many runs, one answer: what varies between them, in which order they come, and what became of each. Pure."""
