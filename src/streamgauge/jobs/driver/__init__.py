"""The process of a query: its JVM, its source and sink, its executors, and its progress."""
