"""Texts that may not get out: what holds one, how it is sealed, where it occurs elsewhere, and what stands there."""
