"""The tests: cases of the spec, laws, the oracle, doors, and the repository itself."""
