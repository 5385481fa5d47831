"""Composers, which turn results into figures of panels and marks without a plotting package."""
