"""The doors: each translates, calls the one engine, and translates back. None of them decides anything."""
