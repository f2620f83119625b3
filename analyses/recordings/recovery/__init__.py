"""Recovery: how much of a known replay a recording detects, and the correction of shares by it."""
