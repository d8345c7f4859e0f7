"""One node of a cluster of our own: its configuration, its storage, its process, its ports."""
