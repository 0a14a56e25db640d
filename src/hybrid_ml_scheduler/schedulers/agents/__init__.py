"""Strategies with a learned value of the queues: what they see, remember and choose."""
