"""Tests of the SQL store, the same for every database it can be kept in."""
