"""Parse, wire together, call, print, exit code."""
