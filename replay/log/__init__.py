"""The log of a run: every step, and every backup."""
