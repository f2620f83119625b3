"""Kinds of replay: what each event replays of the experience until then."""
