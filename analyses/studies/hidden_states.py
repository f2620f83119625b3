"""Replay of states that are hidden behind observations that look alike.

Brea (2018) [1]_ asks how prioritized sweeping goes on where the state is not fully observed, with a
memory of sequences that lead to reward together with a mechanism that attaches converging
sequences, and names averages over episodes (Gershman & Daw 2017) [2]_ as what to beat. Here the
encoder `StateMerging` joins converging histories. In T-mazes a cue decides the rewarded arm after
a corridor whose places look alike [3]_; in two rooms only walls, or one of three colours, are
seen [4]_. What sweeping earns on the states found is compared with averages over episodes, on the
same states, and on windows of the last four observations; and kinds of replay in codes with kinds
in the true states.

References
----------
.. [1] Brea (2018). https://doi.org/10.48550/arXiv.1711.06677
.. [2] Gershman & Daw (2017). https://doi.org/10.1146/annurev-psych-122414-033625
.. [3] Bakker (2002), Reinforcement learning with long short-term memory.
   https://papers.nips.cc/paper/1953-reinforcement-learning-with-long-short-term-memory
.. [4] George et al. (2021). https://doi.org/10.1038/s41467-021-22559-5
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study, drawn, sized
from analyses.measures.reward_rate import baselines_of
from analyses.sequences.events import kinds_in_places
from analyses.studies.learned_states import kind_shares, seed_of
from replay.checks.arrays import Floats
from replay.encoders import Encoder, KMeans, LastObservations, StateMerging
from replay.simulation import simulate
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP
from replay.worlds.observations import aliased, cued_t_maze, looks_of_walls

LEARNERS = ("prioritized_sweeping", "episodic_control", "retrieved_episodes")
"""`retrieved_episodes` averages over episodes."""

ENCODERS: dict[str, Encoder | None] = {
    "true_states": None,
    "state_merging": StateMerging(),
    # Observations are clustered first, so that a window is a word of few letters.
    "last_four": LastObservations(4, KMeans(30, 1000, np.inf)),
}
"""`true_states` is no encoder; `last_four` is a window of four observations."""

WORLDS = ("t_maze_2", "t_maze_5", "t_maze_10", "t_maze_20", "walls", "colours")
"""T-mazes by the length of their corridor, and two open rooms by what is seen in them."""

_SIDE, _COLOURS = {"walls": 6, "colours": 5}, 3
_WALKS = (2500, 5000, 10_000)  # observations after which it is asked whether states are found
_N_STEPS = 10_000
_DISCOUNT, _EPSILON = 0.99, 0.1
_LAST = 0.25  # of the run counts
_SHOWN = ["world", "encoder", "learner", "mean", "ci_low", "ci_high", "recovered", "agreement"]


def _world(name: str, rng: np.random.Generator) -> tuple[MDP, Floats]:
    """Make a world, and what is seen in each of its states."""
    if name.startswith("t_maze"):
        maze = cued_t_maze(int(name.split("_")[-1]))
        return maze, np.array(maze.labels, dtype=np.float64)
    side = _SIDE[name]
    rows = ["." * side] * side
    rows[0] = "S" + rows[0][1:]
    rows[side // 2] = rows[0][1 : side // 2 + 1] + "G" + rows[0][side // 2 + 1 :]
    room = from_ascii("\n".join(rows), name=f"room, {name} seen")
    if name == "walls":
        return room, looks_of_walls(room).astype(np.float64)
    colours = rng.integers(_COLOURS, size=room.n_states)
    return room, np.where(room.terminal, -1.0, colours)


def _is_recovered(codes: pd.DataFrame) -> bool:
    """Return whether codes are the true states up to their names, after the last refit."""
    last = codes[codes["n_refits"] == codes["n_refits"].max()]
    pairs = last[["code", "state"]].drop_duplicates()
    return bool(pairs["code"].is_unique and pairs["state"].is_unique)


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Run all learners with all encoders in one world."""
    name, seed = piece.group, seed_of(plan, piece)
    maze, looks = _world(name, np.random.default_rng(seed))
    between = baselines_of(maze, discount=_DISCOUNT, epsilon=_EPSILON)
    runs, kinds, walks = [], [], []
    for label, encoder in ENCODERS.items():
        for learner in LEARNERS:
            env = maze if encoder is None else aliased(maze, looks)
            run = simulate(env, learner, encoder=encoder, n_steps=_N_STEPS, seed=seed)
            what = {"world": name, "encoder": label, "learner": learner}
            last = run.log.steps.iloc[-round(_LAST * _N_STEPS) :]
            row = what | {"value": between.normalise(last["reward"].mean())}
            if name.startswith("t_maze"):
                row["rewarded"] = last.loc[last["terminated"], "reward"].mean()
            row["recovered"] = 1.0 if run.codes is None else float(_is_recovered(run.codes))
            both = kinds_in_places(run)
            row["agreement"] = both["agrees"].mean()
            row["n_events"] = run.log.backups["event"].nunique()
            runs.append(row)
            kinds += [what | shares for shares in kind_shares(both)]
    for n_before in _WALKS:
        # It is never fitted again, so that nothing but these first observations counts.
        encoder_of_walk = StateMerging(n_before=n_before, refit_factor=np.inf)
        run = simulate(
            aliased(maze, looks), "q_learning", encoder=encoder_of_walk, n_steps=2000, seed=seed
        )
        is_recovered = run.codes is not None and _is_recovered(run.codes)
        walks.append({"world": name, "n_before": n_before, "value": float(is_recovered)})
    tables = {"runs": runs, "kinds": kinds, "walks": walks}
    return {table: pd.DataFrame(rows) for table, rows in tables.items()}


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    runs = results.read_pieces("runs")
    by = ["world", "encoder", "learner"]
    # Runs of one piece were in the same world, and are compared in pairs.
    runs["piece"] = runs.groupby(by).cumcount()
    table = mean_interval(runs, "value", by)
    means = runs.groupby(by, sort=False)[["rewarded", "recovered", "agreement", "n_events"]]
    ours = runs[(runs["encoder"] == "state_merging") & (runs["learner"] == LEARNERS[0])]
    others = runs.drop(ours.index).merge(
        ours[["world", "piece", "value"]], on=["world", "piece"], suffixes=("", "_of_sweeping")
    )
    ahead = others.assign(value=others["value_of_sweeping"] - others["value"])
    kinds = results.read_pieces("kinds")
    shares = kinds.groupby(["world", "encoder", "learner", "states", "kind"])["share"].sum()
    counts = results.read_pieces("walks").groupby(["world", "n_before"])["value"]
    walks = counts.agg(["sum", "size"]).astype(int)
    found = [stats.binomtest(k, n).proportion_ci(0.95, "wilson") for k, n in walks.to_numpy()]
    low, high = np.array(found).T
    walks = walks.assign(mean=walks["sum"] / walks["size"], ci_low=low, ci_high=high)
    walks = walks.rename(columns={"size": "n"}).reset_index()
    return {
        "hidden_states.csv": table.merge(means.mean().reset_index(), on=by),
        "sweeping_ahead.csv": mean_interval(ahead, "value", by),
        "recovered_states.csv": walks[["world", "n_before", "mean", "ci_low", "ci_high", "n"]],
        "kinds_of_hidden_states.csv": (shares / next(iter(plan.pieces.values()))).reset_index(),
    }


STUDY = Study(
    "hidden_states",
    "How does sweeping go on where states are hidden?",
    plan=sized(12, *WORLDS),  # all of them: what is not there cannot be compared
    make=_make,
    summarise=_summarise,
    figures={
        "hidden_states": drawn(
            "encoder_figures:hidden_states_figure", "hidden_states.csv", "recovered_states.csv"
        )
    },
    show=lambda plan, tables: [Shown(table=tables["hidden_states.csv"][_SHOWN])],
)  # fmt: skip
