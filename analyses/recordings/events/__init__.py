"""Candidate events: bursts of activity, or of ripple power, that may be replay."""
