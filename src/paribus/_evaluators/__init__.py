"""Evaluators, which turn blocks of rows into states, and the planner that chooses among them."""
