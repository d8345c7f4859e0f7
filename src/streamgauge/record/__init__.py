"""The run folder: crash-safe event parts, run facts, machine facts."""
