"""Parity: each account of replay in the simulations of its authors, beside the published values."""
