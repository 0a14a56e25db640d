"""Streams of built-in kinds: run for real and in the model, calibrated, compared and reported."""
