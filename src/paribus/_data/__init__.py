"""Tables, features, weights and summaries of the background data."""
