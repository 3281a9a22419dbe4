"""Tests of stored content: what is kept, how it is found, and what is known of it."""
