"""Recordings: from spikes or decoded posteriors to the same sequences as those of models."""
