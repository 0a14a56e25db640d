"""Files that people send: checked by a process of their own, kept by their content, raced by name."""
