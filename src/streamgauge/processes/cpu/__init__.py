"""What keeps threads from running: CPU quotas, and other threads."""
