"""Composers: a result becomes a figure of panels of marks. They read results and draw nothing."""
