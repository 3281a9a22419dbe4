"""Laws: one file per law, each held against random input."""
