"""Where a task goes: what is believed of its durations, what waits already, and the strategy that decides."""
