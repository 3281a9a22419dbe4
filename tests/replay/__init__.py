"""Replaying recorded sessions: reading them, asking the gate, showing what it said."""
