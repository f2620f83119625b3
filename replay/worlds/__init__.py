"""Worlds: Markov decision processes, their builders, and worlds that change."""
