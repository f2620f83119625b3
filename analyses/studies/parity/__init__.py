"""Parity: each account of replay in its authors' own simulations, beside what they published."""
