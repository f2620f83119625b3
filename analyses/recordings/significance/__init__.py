"""Significance: whether an event is replay, or what its spikes would give by chance."""
