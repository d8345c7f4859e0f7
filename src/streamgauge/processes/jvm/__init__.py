"""Java machines: which Java, how one is started, shared and ended."""
