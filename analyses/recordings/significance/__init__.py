"""Significance: tests of whether an event is replay or could arise by chance."""
