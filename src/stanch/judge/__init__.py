"""Would a call that nobody has made be refused outright? Asked without a model, an approver, or a hook."""
