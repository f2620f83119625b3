"""Decoding: where the animal was, or where replay was, from spikes on a track."""
