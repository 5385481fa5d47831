"""Loops over rows, nodes and points: `reference` says what they compute, `compiled` does it fast.

Both have the same functions: `rank` numbers among thresholds, `lay_out` a program, `cover` rows, draw the
`curves` of rows along what was `trace`d, `average` points, `weigh` the paths of training. `compiled` is
imported when a kernel is first needed, because it takes longer to load than the rest of the library.
"""
