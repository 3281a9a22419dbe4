"""May this call run? Context, relaxation, and the decision."""
