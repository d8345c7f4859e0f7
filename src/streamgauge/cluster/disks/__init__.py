"""Faults of disks, done to brokers of our own: limits, lost and cut files, and directories that pass through us."""
