"""Sequences: what is replayed, chained and classified."""
