"""From a run folder to Spark frames."""
