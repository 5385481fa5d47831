"""Rows that are read, not held: files, streams and partitions, as often as it takes."""
