"""What is done with runs that are there: found, given to be compared, kept in one file, queried, put on a page."""
