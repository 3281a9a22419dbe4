"""Adapters to this machine: the audit file."""
