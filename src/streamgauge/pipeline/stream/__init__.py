"""The pipeline under test: its batches, and the stages of its messages."""
