"""What commands print and draw, and where they may write."""
