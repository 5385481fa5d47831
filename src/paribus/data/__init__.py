"""What came in: tables, features, weights, and what a first look at the data tells."""
