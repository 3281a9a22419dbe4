"""What a stored item is known to carry, how that is kept beside it, and which secrets one egress has to take out."""
