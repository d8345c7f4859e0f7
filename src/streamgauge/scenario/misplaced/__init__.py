"""Keys that are not known where they stand: where they belong, and what other benchmarks call them."""
