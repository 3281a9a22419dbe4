"""What a shell command does: read out of its words, before it runs."""
