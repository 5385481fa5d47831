"""How well a model predicts the rows, from one pass over them."""
