"""Strategies that follow a fixed rule."""
