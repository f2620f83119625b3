"""The reproduction of Brea (2018)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from analyses.jobs.results import Results
from analyses.jobs.study import MOST, MOST_STEPS, Piece, digests
from analyses.tables import LEARNER_ORDER, in_order
from replay.checks import check_choice, check_whole
from replay.experiments import (
    EXPERIMENTS,
    PAPER_LEARNERS,
    Experiment,
    find_experiment,
    find_variant,
)
from replay.learners import LEARNERS, check_computes_values, find_learner
from replay.worlds.mdp import MDP

N_WINDOWS = 100
"""Number of windows of a run in which its reward rate is computed."""

_QUICK = {
    "deterministic_tree": (10, 2, 20_000),
    "deterministic_tree_intermittent": (10, 2, 20_000),
    "stochastic_tree": (10, 4, 10_000),
    "maze": (6, 1, 300_000),
}
_NUMBERS = re.compile(r"-(\d{1,9})-\d+$")  # of the world and the run, in the name of a log
_LOGS = ("replay", "all", "none")


@dataclass(frozen=True)
class Reproduction:
    """The plan of a reproduction."""

    # Names in `EXPERIMENTS` and `LEARNERS`, or of learners in `files`.
    experiments: tuple[str, ...]
    learners: tuple[str, ...]
    # Experiment -> number of worlds, of runs of each learner in each world, of steps of a run.
    n_mdps: Mapping[str, int]
    n_seeds: Mapping[str, int]
    n_steps: Mapping[str, int]
    seed: int = 0  # seed of everything
    log: str = "replay"  # replay, all or none is logged; with none, nothing is classified
    keep_logs: int = 1  # number of runs of each learner in each experiment whose whole log is kept
    # A name in `VARIANTS`; or the discrepancies between the paper's text and code in which the text
    # is followed, as in D1+D2.
    variant: str = "published"
    # The Python files of the user's own learners, by name.
    files: Mapping[str, str] = field(default_factory=dict)

    def experiment(self, name: str) -> Experiment:
        """Return an experiment in the plan's variant, with the user's own learners."""
        return (
            EXPERIMENTS[name].variant(self.variant).beside(map(find_learner, self.files.values()))
        )

    def file_or_name(self, learner: str) -> str:
        """Return the file or name by which `find_learner` finds a learner of the plan."""
        return self.files.get(learner, learner)

    def world_steps(self, experiment: str) -> int:
        """Count the steps of all runs in one world of an experiment."""
        return self.n_seeds[experiment] * self.n_steps[experiment] * len(self.learners)

    def n_kept(self, piece: Piece) -> int:
        """Count the runs of each learner in one world whose whole logs are kept."""
        if self.log == "none":
            return 0
        n_seeds = self.n_seeds[piece.group]
        return min(max(self.keep_logs - piece.number * n_seeds, 0), n_seeds)

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces: one per world of each experiment."""
        return {name: self.n_mdps[name] for name in self.experiments}

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest: all that is needed to make the results again."""
        parameters = {
            name: {
                learner: {
                    key: value if np.isfinite(value) else "inf"
                    for key, value in each.parameters[learner]._asdict().items()
                }
                for learner in self.learners
            }
            for name, each in ((name, self.experiment(name)) for name in self.experiments)
        }
        fields = {key: value for key, value in asdict(self).items() if key != "files"}
        files = {"files": digests(self.files)} if self.files else {}
        return {**fields, **files, "parameters": parameters}


# Many parameters: they are the options of ``replay reproduce``.
def plan_reproduction(
    experiments: Sequence[str] = (),
    learners: Sequence[str] = (),
    *,
    n_mdps: int | None = None,
    n_seeds: int | None = None,
    n_steps: int | Mapping[str, int] | None = None,
    full: bool = False,
    size: float = 1.0,
    seed: int = 0,
    log: str = "replay",
    keep_logs: int = 1,
    variant: str = "published",
) -> Reproduction:
    """Plan a reproduction: check the arguments, and fill in the sizes."""
    names = [find_experiment(name).name for name in experiments] or list(EXPERIMENTS)
    names = [name for name in EXPERIMENTS if name in names]
    found = {find_learner(name).name: name for name in learners or PAPER_LEARNERS}
    files = {name: given for name, given in found.items() if name not in LEARNERS}
    sizes = {
        name: (EXPERIMENTS[name].n_mdps, EXPERIMENTS[name].n_seeds, EXPERIMENTS[name].n_steps)
        if full
        else _QUICK[name]
        for name in names
    }
    for name in found.values():
        check_computes_values(name)
    steps = n_steps if isinstance(n_steps, Mapping) else dict.fromkeys(names, n_steps)
    for name in steps:
        if find_experiment(name).name not in names:
            raise ValueError(f"Steps are given for {name}, which is not among the experiments.")
    for what, number in (("worlds", n_mdps), ("seeds", n_seeds)):
        if number is not None:
            check_whole(f"The number of {what}", number, at_least=1, at_most=MOST)
    check_whole("The seed", seed)
    check_whole("The number of logs to keep", keep_logs)
    check_choice("log", log, _LOGS)
    find_variant(variant)
    lengths = {
        name: usual[2] if (number := steps.get(name)) is None else _whole_windows(name, number)
        for name, usual in sizes.items()
    }
    return Reproduction(
        tuple(names),
        tuple(in_order(found, LEARNER_ORDER)),
        {
            name: max(round(usual[0] * size), 1) if n_mdps is None else n_mdps
            for name, usual in sizes.items()
        },
        {name: usual[1] if n_seeds is None else n_seeds for name, usual in sizes.items()},
        lengths,
        seed,
        log,
        keep_logs,
        variant,
        files,
    )


def _whole_windows(experiment: str, n_steps: int) -> int:
    """Check that a run can be divided into windows of equal length."""
    what = f"The number of steps of {experiment}"
    number = check_whole(what, n_steps, at_least=N_WINDOWS, at_most=MOST_STEPS)
    if number % N_WINDOWS:
        raise ValueError(
            f"{what} must be a multiple of {N_WINDOWS}, for {N_WINDOWS} windows of equal length; "
            f"got {number}. Try {number // N_WINDOWS * N_WINDOWS}."
        )
    return number


def log_folder(experiment: str, learner: str, index: int, run: int) -> str:
    """Return the folder of a whole event log, relative to that of the results."""
    return f"logs/{experiment}/{learner}-{index}-{run}"


def world_of_log(folder: str | Path) -> MDP | None:
    """Draw again the world of a log that ``replay reproduce`` kept; None for one from elsewhere."""
    folder = Path(folder).resolve()
    experiment, index = folder.parent.name, _NUMBERS.search(folder.name)
    if folder.parent.parent.name != "logs" or experiment not in EXPERIMENTS or index is None:
        return None
    try:
        seed = Results(folder.parents[2]).manifest().get("seed")
    except FileNotFoundError:
        return None
    return EXPERIMENTS[experiment].mdp(int(index[1]), check_whole("The seed", seed))


def plan_of(results: Results) -> Reproduction:
    """Return the plan of finished results, unless learners from files are part of it.

    A manifest may come from somebody else, so it must not choose which files are run.
    """
    held = results.manifest()
    if held.get("files") or not set(held.get("learners", ())) <= set(LEARNERS):
        raise ValueError(
            f"{results.folder} has other learners than those of this toolkit. Name a folder "
            "without them."
        )
    try:
        known = {each.name: held[each.name] for each in fields(Reproduction) if each.name in held}
        for name in known["experiments"]:
            find_experiment(name)
            for what in ("n_mdps", "n_seeds"):
                check_whole(what, known[what][name], at_least=1, at_most=MOST)
            _whole_windows(name, known["n_steps"][name])
        lists = {key: tuple(known[key]) for key in ("experiments", "learners")}
        return Reproduction(**known | lists)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"The manifest of {results.folder} is not that of a reproduction ({error}). Name "
            "another folder."
        ) from error
