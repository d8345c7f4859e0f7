"""Values as people write and read them: quantities, numbers, addresses, and what must not be shown."""
