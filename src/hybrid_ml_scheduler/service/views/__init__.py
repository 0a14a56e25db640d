"""From records of the arena and the store to wire messages."""
