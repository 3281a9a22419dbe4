"""The shapes in which other programs write a conversation: read to messages, and written back without loss."""
