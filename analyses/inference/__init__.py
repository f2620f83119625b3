"""Which account of replay made these events? Inference from an animal's own moves and replay.

Accounts are simulated on the moves that the animal made, with parameters from their priors; a
classifier learns from these simulations which account made the events that were found, and says
how sure that is (:mod:`analyses.inference.model_choice`).
"""
