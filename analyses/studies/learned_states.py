"""Replay of states that are learned from noisy observations.

Brea (2018) asks which function maps the senses to a representation that is useful for prioritized
sweeping. Here learners act in random mazes that they see through noisy place cells among units that
flicker, and balance a pole on a cart; an encoder turns what is seen into states. What is earned is
compared with what the true states allow, and the kinds of replay in codes with those in the places
that the codes stand for.

References
----------
.. [1] Brea (2018). https://doi.org/10.48550/arXiv.1711.06677
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study, drawn, sized
from analyses.measures.reward_rate import baselines_of
from analyses.sequences.events import kinds_in_places
from replay.checks import check_choice
from replay.encoders import Encoder, KMeans, PredictiveStates, RandomProjections, SlowFeatures
from replay.simulation import Run, simulate
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.observations import place_code

LEARNERS = ("prioritized_sweeping", "episodic_control", "q_learning")

ENCODERS = ("true_states", "predictive_states", "k_means", "slow_features", "random_projections")
"""`true_states` is no encoder."""

SETTINGS = {
    "noise": (0.1, 0.2, 0.3),
    "width": (0.5, 2.0),
    "n_distractors": (0, 100),
    "codes_per_state": (1.2, 4.0),
}
"""What is varied, one at a time; the first of all is usual. Place fields are as wide as places are
apart, times `width`."""

_SIZE, _MAZE_STEPS, _CART_STEPS = 10, 10_000, 30_000  # of mazes, and of runs
_USUAL = {"noise": 0.1, "width": 1.0, "n_distractors": 30, "codes_per_state": 2.0}
_CART_CODES = 300  # as there are no true states of the cart to count
_DISCOUNT, _EPSILON = 0.99, 0.1
_LAST = 0.25  # of the run counts
_SHOWN = ["task", "encoder", "learner", "mean", "ci_low", "ci_high", "purity", "agreement"]


def encoder_of(name: str, n_states: int, codes_per_state: float) -> Encoder | None:
    """Make an encoder for a maze; None for the true states."""
    n_codes = round(codes_per_state * n_states)
    return {
        "true_states": None,
        "predictive_states": PredictiveStates(n_codes),
        "k_means": KMeans(n_codes),
        "slow_features": SlowFeatures(n_states - 1, n_codes),
        "random_projections": RandomProjections(round(np.log2(n_codes))),
    }[check_choice("encoder", name, ENCODERS)]


def act_in_maze(
    maze: MDP, learner: str, encoder: str, *, n_steps: int, seed: int, **changes: float
) -> Run:
    """Let a learner act in a maze that it sees through an encoder.

    The place fields are as wide as states are apart. Changes of the usual settings are named as in
    `SETTINGS`.
    """
    settings = _USUAL | changes
    found = encoder_of(encoder, maze.n_states, settings["codes_per_state"])
    if found is None:
        return simulate(maze, learner, n_steps=n_steps, seed=seed)
    position = np.asarray(maze.position)
    apart = np.linalg.norm(position[:, None] - position, axis=2)
    env = place_code(
        maze,
        width=settings["width"] * float(apart[apart > 0].min()),
        noise=settings["noise"],
        n_distractors=round(settings["n_distractors"]),
    )
    return simulate(env, learner, encoder=found, n_steps=n_steps, seed=seed)


def _in_maze(seed: int) -> dict[str, pd.DataFrame]:
    """Run all learners with all encoders in one maze."""
    maze = random_maze(_SIZE, seed=seed)
    rows: list[dict[str, Any]] = []
    kinds: list[dict[str, Any]] = []
    for encoder in ENCODERS:
        for learner in LEARNERS:
            run = act_in_maze(maze, learner, encoder, n_steps=_MAZE_STEPS, seed=seed)
            what = {"task": "maze", "encoder": encoder, "learner": learner}
            both = kinds_in_places(run)
            rows.append(what | _measured(run, maze, both))
            kinds += [what | shares for shares in kind_shares(both)]
    return {"runs": pd.DataFrame(rows), "kinds": pd.DataFrame(kinds)}


def kind_shares(kinds: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Count the kinds that `kinds_in_places` found, in codes and in places: rows of a table."""
    for states in ("codes", "places"):
        for kind, share in kinds[states].value_counts(normalize=True).items():
            yield {"states": states, "kind": kind, "share": share}


def _with_settings(seed: int) -> dict[str, pd.DataFrame]:
    """Run sweeping with predictive states in one maze, with each setting in turn."""
    maze = random_maze(_SIZE, seed=seed)
    rows = []
    for setting, values in SETTINGS.items():
        for value in values:
            run = act_in_maze(
                maze, LEARNERS[0], "predictive_states",
                n_steps=_MAZE_STEPS, seed=seed, **{setting: value},
            )  # fmt: skip
            row = _measured(run, maze, kinds_in_places(run))
            rows.append({"setting": setting, **row, "set_to": value})
    return {"settings": pd.DataFrame(rows)}


def _measured(run: Run, maze: MDP, kinds: pd.DataFrame) -> dict[str, float]:
    """Return what a run earned, and how far its codes are places."""
    between = baselines_of(maze, discount=_DISCOUNT, epsilon=_EPSILON)
    rates = run.reward_rate["reward_rate"]
    return {
        "value": between.normalise(rates.iloc[-round(_LAST * len(rates)) :].mean()),
        "agreement": kinds["agrees"].mean(),
        "n_events": run.log.backups["event"].nunique(),
        "purity": 1.0 if run.places is None else _purity(run.places),
    }


def _purity(places: pd.DataFrame) -> float:
    """Return the share of observations that were made where their code was met most often."""
    last = places[places["n_refits"] == places["n_refits"].max()]
    return float(np.average(last["share"], weights=last["n_met"]))


def _on_cart(seed: int) -> dict[str, pd.DataFrame]:
    """Let learners balance a pole; return the mean number of steps until it falls."""
    import gymnasium

    rows = []
    for learner in LEARNERS:
        encoders: dict[str, Encoder] = {
            "predictive_states": PredictiveStates(_CART_CODES),
            "k_means": KMeans(_CART_CODES),
            "random_projections": RandomProjections(round(np.log2(_CART_CODES))),
        }
        for name, encoder in encoders.items():
            env = gymnasium.make("CartPole-v1")
            run = simulate(env, learner, encoder=encoder, n_steps=_CART_STEPS, seed=seed)
            steps = run.log.steps.iloc[-round(_LAST * _CART_STEPS) :]
            n_ends = max((steps["terminated"] | steps["truncated"]).sum(), 1)
            what = {"task": "cart_pole", "encoder": name, "learner": learner}
            n_events = run.log.backups["event"].nunique()
            rows.append(what | {"value": len(steps) / n_ends, "n_events": n_events})
    return {"runs": pd.DataFrame(rows)}


_GROUPS = {"mazes": _in_maze, "carts": _on_cart, "settings": _with_settings}


def seed_of(plan: SizedPlan, piece: Piece) -> int:
    """Return the seed of a piece, which depends on no other piece."""
    group = list(plan.pieces).index(piece.group)
    child = np.random.SeedSequence(plan.seed, spawn_key=(group, piece.number))
    return int(child.generate_state(1)[0])


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    runs = pd.concat([results.read_pieces("runs", group) for group in ("mazes", "carts")])
    by = ["task", "encoder", "learner"]
    table = mean_interval(runs, "value", by)
    means = runs.groupby(by, sort=False)[["purity", "agreement", "n_events"]].mean().reset_index()
    kinds = results.read_pieces("kinds", "mazes")
    n_mazes = plan.pieces["mazes"]
    shares = kinds.groupby(["encoder", "learner", "states", "kind"], sort=True)["share"].sum()
    settings = results.read_pieces("settings", "settings")
    varied = settings.groupby(["setting", "set_to"], sort=False)
    of_settings = varied[["purity", "agreement", "n_events"]].mean().reset_index()
    return {
        "learned_states.csv": table.merge(means, on=by),
        "settings.csv": mean_interval(settings, "value", ["setting", "set_to"]).merge(
            of_settings, on=["setting", "set_to"]
        ),
        "kinds_in_codes.csv": (shares / n_mazes).reset_index(),
    }


STUDY = Study(
    "learned_states",
    "Does replay survive when states must be learned?",
    plan=sized(12, *_GROUPS),  # all of them: what is not there cannot be compared
    make=lambda plan, piece: _GROUPS[piece.group](seed_of(plan, piece)),
    summarise=_summarise,
    figures={
        "learned_states": drawn("encoder_figures:learned_states_figure", "learned_states.csv"),
        "kinds_in_codes": drawn(
            "encoder_figures:kinds_in_codes_figure", "kinds_in_codes.csv", "learned_states.csv"
        ),
    },
    show=lambda plan, tables: [
        Shown(table=tables["learned_states.csv"][_SHOWN]),
        Shown(table=tables["settings.csv"]),
    ],
)  # fmt: skip
