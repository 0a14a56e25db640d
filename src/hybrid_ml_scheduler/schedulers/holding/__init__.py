"""Strategies that hold ready tasks back and commit them when a device can start them."""
