"""What a machine is as a place to measure on: prepared, examined, and calibrated."""
