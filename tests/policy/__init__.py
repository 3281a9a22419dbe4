"""Tests of `stanch.policy`."""
