"""Tree ensembles: what brute force answers, from the leaves and how many rows could reach them."""
