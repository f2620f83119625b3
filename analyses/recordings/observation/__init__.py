"""Observation: what a recording would see of a model's replay, as spikes of place cells.

What comes out is what a laboratory has: positions, and spike times of each cell. It goes the way
that a recording goes (fields are estimated, events decoded), and the truth is known
(:mod:`analyses.recordings.recovery`).
"""
