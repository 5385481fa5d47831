"""What each function computes, as passes over the rows and what follows from them."""
