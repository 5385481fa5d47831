"""Loops of `compiled` in numba, compiled once per environment and cached.

Kernels do not check their arguments, which come from a `Program` that is built from a checked ensemble. They
use unsigned indices, because numba checks signed ones for being negative at each access. To compile fast,
kernels do not allocate memory and use NumPy only to access elements. A kernel is compiled or loaded when it
is first called.
"""
