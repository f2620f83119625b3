"""Recovery: how much of a known replay a recording finds, and shares corrected by it."""
