"""Studies: each one a question, its tables and its figures."""
