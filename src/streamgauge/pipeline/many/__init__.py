"""Many runs at once: their tables and events as views of Spark SQL, and the gold tables of an experiment."""
