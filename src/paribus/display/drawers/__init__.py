"""Figures become visible: one file for each plotting package, all drawing the same marks."""
