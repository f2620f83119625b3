"""Published findings, accounts of replay with their priors, and the evidence for accounts."""
