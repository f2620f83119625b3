"""A recording, the track on which it was made, and the settings of its analysis."""
