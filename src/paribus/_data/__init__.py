"""What came in: tables, features, weights, and what a first survey of the data shows."""
