"""What became of the messages of a run: all of them by class, and one of them from due to delivered."""
