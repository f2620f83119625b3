"""Facts to sentences: the texts of reports, of the screen, of figures and of NWB files."""

from analyses.reports.preparation import explanations_of, notes_of

__all__ = ["explanations_of", "notes_of"]
