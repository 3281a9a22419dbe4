"""May this model see this, and work there? Trust tiers, and what of a conversation another model may read."""
