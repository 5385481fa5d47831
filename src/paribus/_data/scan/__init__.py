"""Out-of-core rows, not held: files, streams and partitions, as often as it takes."""
