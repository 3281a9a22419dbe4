"""The vocabulary: frozen records and closed sets that every other package speaks in. No I/O, no policy."""
