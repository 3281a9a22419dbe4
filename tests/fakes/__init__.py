"""Stand-ins for what a test must not reach: real servers with a script instead of a model."""
