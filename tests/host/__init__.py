"""Tests of the adapters to this machine."""
