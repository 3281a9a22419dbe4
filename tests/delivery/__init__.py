"""Tests of what stored content a model gets: the primitive, the operations, the policy table at the real doors."""
