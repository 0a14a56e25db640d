"""Starting, steering, storing and recovering a run."""
