"""Putting it together: a policy loaded, calls stamped, and the one engine that every door calls."""
