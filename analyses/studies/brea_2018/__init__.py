"""The reproduction of Brea (2018)."""
