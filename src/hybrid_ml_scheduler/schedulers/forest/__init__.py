"""The strategy with a Random Forest, and the labels it learns from."""
