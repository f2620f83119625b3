"""Long work: done piece by piece, kept, and resumed."""
