"""The sizes that studies have by default; commands show them before any study is imported."""

__all__ = ["DEMAND_VISITS", "N_CHANGING_RUNS", "N_CHANGING_WORLDS", "N_DEMAND_WORLDS"]
__all__ += ["N_DRAWS_COMPARED", "N_DRAWS_EXPLAINED", "N_SEQUENCES"]

N_DRAWS_COMPARED = 128
"""Draws of an account's parameters from their priors, in a comparison with published findings."""
N_DRAWS_EXPLAINED = 64
"""The same where the replay of an animal is explained, or is to be."""
N_SEQUENCES = (10, 30, 100, 300)
"""Numbers of replayed sequences per animal of which it is asked what they could tell."""
N_CHANGING_WORLDS, N_CHANGING_RUNS = 10, 4
"""Changing worlds, and runs of each learner in each of them."""
N_DEMAND_WORLDS, DEMAND_VISITS = 3, 5
"""Worlds of each size in which demands are counted, and steps of a run per state and action."""
