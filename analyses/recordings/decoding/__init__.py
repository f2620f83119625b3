"""Decoding of positions on a track from spikes, during running or replay."""
