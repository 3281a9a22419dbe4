"""Every case of the specification, through every door that can express it."""
