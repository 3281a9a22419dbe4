"""Benchmarks that measure Stanch against what one would pick instead: `python -m bench --help`."""
