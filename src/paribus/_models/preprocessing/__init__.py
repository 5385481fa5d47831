"""Preprocessing before a model: what it makes of which column, proved, and the same of rows and of values."""
