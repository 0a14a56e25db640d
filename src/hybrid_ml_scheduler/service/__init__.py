"""A running service without HTTP: where the arena and the store meet."""
