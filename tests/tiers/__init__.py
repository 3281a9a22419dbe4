"""Trust tiers: conversations, how they are written, and what a model may see of them."""
