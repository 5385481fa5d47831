"""Performance of a model on the rows, from one pass over them."""
