"""Facts to sentences: the texts of reports, of the screen, of figures and of NWB files."""
