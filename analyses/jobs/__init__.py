"""Long computations, done piece by piece, stored and resumable."""
