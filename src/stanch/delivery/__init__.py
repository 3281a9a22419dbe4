"""Which stored content may reach a model: what an operation declares, and the verdict on each item that it gives."""
