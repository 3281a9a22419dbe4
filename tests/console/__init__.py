"""The console: its pages over HTTP, and in a real browser."""
