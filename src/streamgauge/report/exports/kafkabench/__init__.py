"""The table and the CSV files of KafkaBench, by its formulas, from recorded runs, and ours beside them."""
