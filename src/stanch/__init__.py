"""Stanch: one gate for AI agents."""
