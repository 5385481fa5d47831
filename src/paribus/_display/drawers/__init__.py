"""Figures become visible: a package for each plotting package, all drawing the same marks."""
