"""The loops of `compiled`, compiled once per environment and cached.

No kernel checks its arguments: they come from a `Program`, which is built from a checked ensemble. Positions
are unsigned, because a signed one is tested for being negative, as Python's may be, at every access. None
takes memory of its own, and none uses more of NumPy than an access to an element: what they do not use need
not be compiled. Each file is imported when first needed, so that a forest of shallow trees compiles no lists.
"""
