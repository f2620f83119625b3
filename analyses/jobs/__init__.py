"""Long work: done piece by piece, kept, and gone on with."""
