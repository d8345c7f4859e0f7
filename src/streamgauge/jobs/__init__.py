"""The pipeline under test: jobs on Spark, what carries them out, and how one is started, watched and ended."""
