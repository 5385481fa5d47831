"""Out-of-core background data: files, streams and partitions, read once per pass."""
