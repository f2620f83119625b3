"""Worlds: Markov decision processes, functions that build them, and worlds that change."""
