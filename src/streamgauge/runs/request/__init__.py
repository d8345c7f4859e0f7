"""What a user asked for: scenario, options and trust, checked before anything starts."""
