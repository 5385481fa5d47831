"""Conversion of records, values and arrays to JSON, for saved results and stored states."""
