"""Tests of the gate's own parts."""
