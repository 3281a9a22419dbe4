"""Tests of what a path means."""
