"""Statistics: the passes over the rows, and the results, of each function."""
