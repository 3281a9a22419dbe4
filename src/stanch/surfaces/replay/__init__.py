"""Replay: what the gate would have said to the calls in recorded sessions."""
