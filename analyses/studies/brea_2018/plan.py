"""What to reproduce: which experiments and learners, how much of each, from which seed."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np

from analyses.jobs.workers import PACKAGES
from replay.experiments import (
    EXPERIMENTS,
    PAPER_LEARNERS,
    Experiment,
    find_experiment,
    find_variant,
)
from replay.learners import LEARNERS, find_learner
from replay.version import __version__

__all__ = ["N_WINDOWS", "Plan"]

N_WINDOWS = 100
"""Into how many windows the steps of a run are cut for its reward rate."""

_QUICK = {
    "deterministic_tree": (10, 2, 20_000),
    "deterministic_tree_intermittent": (10, 2, 20_000),
    "stochastic_tree": (10, 4, 10_000),
    "maze": (6, 1, 300_000),
}


@dataclass(frozen=True)
class Plan:
    """What to reproduce.

    Attributes
    ----------
    experiments, learners : tuple of str
        Names in ``EXPERIMENTS`` and ``LEARNERS``.
    n_mdps, n_seeds, n_steps : dict
        Experiment -> worlds, runs of each learner in each world, steps of a run.
    seed : int
        Seed of everything.
    log : {"replay", "all", "none"}
        What is logged; with ``"none"`` nothing is classified.
    keep_logs : int
        Of how many runs of each learner in each experiment the whole log is kept.
    variant : str
        Where text and code of the paper disagree: a name in ``VARIANTS``, or discrepancies in which
        the text is followed, as in ``"D1+D2"``.
    """

    experiments: tuple[str, ...]
    learners: tuple[str, ...]
    n_mdps: Mapping[str, int]
    n_seeds: Mapping[str, int]
    n_steps: Mapping[str, int]
    seed: int = 0
    log: str = "replay"
    keep_logs: int = 1
    variant: str = "published"

    @classmethod
    def make(
        cls,
        experiments: Sequence[str] = (),
        learners: Sequence[str] = (),
        *,
        n_mdps: int | None = None,
        n_seeds: int | None = None,
        n_steps: int | Mapping[str, int] | None = None,
        full: bool = False,
        seed: int = 0,
        log: str = "replay",
        keep_logs: int = 1,
        variant: str = "published",
    ) -> "Plan":
        """Check what is asked for, and fill in the sizes.

        Parameters
        ----------
        experiments, learners : sequence of str
            Which; none means all experiments and the paper's nine learners.
        n_mdps, n_seeds : int, optional
            Worlds of every experiment, and runs of each learner in each of them.
        n_steps : int or dict, optional
            Steps of a run, a multiple of 100; by experiment if it is a dict.
        full : bool
            Whether sizes that are not given are the paper's, or such as take about a minute.
        seed : int
            Seed of everything.
        log : {"replay", "all", "none"}
            What is logged.
        keep_logs : int
            Of how many runs of each learner in each experiment the whole log is kept.
        variant : str
            A name in ``VARIANTS``, or discrepancies, as in ``"D1+D2"``.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        ValueError
            If a name is unknown or a number out of range.

        Examples
        --------
        >>> Plan.make(["maze"], ["q_learning"], full=True).n_runs
        400
        """
        names = [find_experiment(name).name for name in experiments] or list(EXPERIMENTS)
        chosen = [find_learner(name).name for name in learners] or list(PAPER_LEARNERS)
        sizes = {
            name: (EXPERIMENTS[name].n_mdps, EXPERIMENTS[name].n_seeds, EXPERIMENTS[name].n_steps)
            if full
            else _QUICK[name]
            for name in names
        }
        steps = n_steps if isinstance(n_steps, Mapping) else dict.fromkeys(names, n_steps)
        for name in steps:
            find_experiment(name)
        plan = cls(
            tuple(name for name in EXPERIMENTS if name in names),
            tuple(name for name in LEARNERS if name in chosen),
            {name: size[0] if n_mdps is None else n_mdps for name, size in sizes.items()},
            {name: size[1] if n_seeds is None else n_seeds for name, size in sizes.items()},
            {name: steps.get(name) or size[2] for name, size in sizes.items()},
            seed,
            log,
            keep_logs,
            variant,
        )
        plan._check()
        return plan

    def _check(self) -> None:
        for what, numbers in (("MDPs", self.n_mdps), ("seeds", self.n_seeds)):
            for number in numbers.values():
                if number < 1:
                    raise ValueError(f"The number of {what} must be at least 1, got {number}.")
        for name, number in self.n_steps.items():
            if number < N_WINDOWS or number % N_WINDOWS:
                raise ValueError(
                    f"The steps of {name} must be a multiple of {N_WINDOWS}, for {N_WINDOWS} "
                    f"windows of equal length; got {number}. Try "
                    f"{max(number // N_WINDOWS, 1) * N_WINDOWS}."
                )
        if self.seed < 0:
            raise ValueError(f"The seed must not be negative, got {self.seed}.")
        if self.log not in ("replay", "all", "none"):
            raise ValueError(f"log must be 'replay', 'all' or 'none', got {self.log!r}.")
        if self.keep_logs < 0:
            raise ValueError(f"The number of logs to keep must not be negative: {self.keep_logs}.")
        find_variant(self.variant)

    def experiment(self, name: str) -> Experiment:
        """Give an experiment as the plan's variant has it."""
        return EXPERIMENTS[name].variant(self.variant)

    @property
    def pieces(self) -> list[tuple[str, int]]:
        """All pieces of work: experiment and number of the world."""
        return [(name, index) for name in self.experiments for index in range(self.n_mdps[name])]

    @property
    def n_runs(self) -> int:
        """How many runs there are in all."""
        return sum(self.n_seeds[name] for name, _ in self.pieces) * len(self.learners)

    @property
    def total_steps(self) -> int:
        """How many steps there are in all runs."""
        return sum(self.piece_steps(name) for name, _ in self.pieces)

    def piece_steps(self, experiment: str) -> int:
        """Count the steps of one piece."""
        return self.n_seeds[experiment] * self.n_steps[experiment] * len(self.learners)

    def manifest(self) -> dict[str, Any]:
        """Tell all that is needed to make the results again."""
        packages = (*PACKAGES, "matplotlib")
        return {
            "software": "hippocampal-replay",
            "version": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
            **asdict(self),
            "parameters": {
                name: {
                    learner: {
                        key: value if np.isfinite(value) else "inf"
                        for key, value in parameters[learner]._asdict().items()
                    }
                    for learner in self.learners
                }
                for name in self.experiments
                for parameters in [self.experiment(name).parameters]
            },
        }
