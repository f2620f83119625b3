"""What recordings replay: one animal, or several animals of one experiment."""
