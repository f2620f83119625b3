"""Known replay as a recording would show it, and how much of it is found.

A model's replay is observed in spikes of place cells. The result has the form of laboratory data,
positions and spike times of cells, and is analysed like a recording (fields are estimated, events
decoded), but what was replayed is known.
"""
