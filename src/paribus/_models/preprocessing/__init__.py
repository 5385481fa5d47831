"""Preprocessing before a model: dependencies of columns, and prepared rows and values."""
