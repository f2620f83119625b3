"""Observation: a model's replay as a recording would show it, in spikes of place cells.

The result has the form of laboratory data, positions and spike times of cells, and is analysed like
a recording (fields are estimated, events decoded), but what was replayed is known
(:mod:`analyses.recordings.recovery`).
"""
