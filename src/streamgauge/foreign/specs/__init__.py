"""Specifications of other tools: what each says, as a scenario or an experiment, and what it says that they cannot."""
