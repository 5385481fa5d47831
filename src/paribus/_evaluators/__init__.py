"""From a block to a state: the planner that chooses, and the ways to evaluate."""
