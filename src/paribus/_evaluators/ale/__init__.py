"""Local effects: what changes when a feature moves to the next of its values, for the rows that are there."""
