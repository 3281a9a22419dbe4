"""Putting it together: what the pieces are together, on a real disk."""
