"""Replay sequences: linking backups to chains, classifying and counting them."""
