"""Exact effects of tree ensembles, from the leaves and the share of rows that can reach them."""
