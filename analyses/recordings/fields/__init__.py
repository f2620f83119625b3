"""Place fields of cells, from the spikes of the running animal."""
