"""The version of the toolkit, in its one place."""

__version__ = "0.1.0"
