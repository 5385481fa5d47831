"""Sizes of masks that loops and vector operations share."""

EIGHT = 8  # words of a mask of 512 rows
BYTES = 64  # bytes that are tested at once
DIGITS = 3
MOST = (1 << DIGITS) - 1  # features numbered from 1 with this many binary digits
