"""What layers say that are not rules: rows, policies, hooks."""
