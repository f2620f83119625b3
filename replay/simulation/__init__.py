"""Simulation: learners act in worlds, or learn from recorded experience."""

from replay.simulation.feed import feed
from replay.simulation.simulate import Run, simulate, sweep

__all__ = ["Run", "feed", "simulate", "sweep"]
