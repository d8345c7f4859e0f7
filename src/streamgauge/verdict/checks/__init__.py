"""The checks of the verdict, by subject."""
