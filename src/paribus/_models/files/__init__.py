"""Readers of model files, which do not need the library that wrote them."""
