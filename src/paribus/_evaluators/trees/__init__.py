"""Tree ensembles: what brute force estimates, from the leaves and how many rows could reach them."""
