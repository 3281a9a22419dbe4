"""Tests of an organization's rules: how they are fetched and kept, and what they say."""
