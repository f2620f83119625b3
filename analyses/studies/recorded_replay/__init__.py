"""Replay in recordings: of one animal, or of several animals of one experiment."""
