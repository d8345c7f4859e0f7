"""Clients that acknowledge single messages with markers, and the tracker that redelivers the others."""
