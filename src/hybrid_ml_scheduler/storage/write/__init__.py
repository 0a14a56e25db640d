"""Rows on their way into the store: blocks, batches, one transaction each."""
