"""Learners act in worlds, or learn from recorded experience."""
