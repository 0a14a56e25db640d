"""The scientific mode: paired races, heavy loads, pipeline, shifts and sweeps, with their statistics and folders."""
