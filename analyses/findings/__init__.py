"""Published findings, accounts of replay with their priors, and evidence for them."""
