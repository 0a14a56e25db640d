"""What viewers see, in the process that runs the race and in those that follow it."""
