"""Ourselves and our peers on the same job, in one run, as ratios."""
