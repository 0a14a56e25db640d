"""Fitting and judging forests and agents, and the problem as an environment for other people's agents."""
