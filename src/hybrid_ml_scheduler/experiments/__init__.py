"""The scientific mode: plans, paired races, statistics, plots, reports and sweeps."""
