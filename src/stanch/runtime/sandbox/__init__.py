"""Programs and snippets that a model wrote, run apart from everything else."""
