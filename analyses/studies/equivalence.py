"""Where episodic control and prioritized sweeping are one learner, and where that ends.

The paper shows that on deterministic trees episodic control, prioritized sweeping, and sweeping
with a model that is emptied at each episode's end learn the same action values [1]_. Here they act
in the same world with the same random numbers, and each also learns from the steps of episodic
control. So ``equivalence.csv`` says how often all their actions are the same, how far action values
at the ends of episodes are apart, and how many backups an episode costs, in worlds that the
argument covers and in others.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.jobs.results import Results
from analyses.jobs.study import Shown, SizedPlan, Study, sized
from replay.experiments import find_experiment
from replay.parts.pauses import END
from replay.simulation import feed, simulate
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LEARNERS", "STUDY", "WORLDS", "compare_with_episodic_control", "irregular_tree"]

_ALL = 10_000  # pops, more than there are states
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sweeping, 3 pops a step": ("prioritized_sweeping", {}),
    "sweeping, until the queue is empty": ("prioritized_sweeping", {"max_pops": _ALL}),
    "reset, last state queued": ("prioritized_sweeping_reset", {"queue_visited": False}),
    "reset, visited states queued": ("prioritized_sweeping_reset", {"queue_visited": True}),
    "model of one episode, until the queue is empty": (
        "prioritized_sweeping",
        {"replay_at": END, "max_pops": _ALL, "capacity": 1.0},
    ),
}
"""What is compared with episodic control: learner, and its parameters."""

_TREE = find_experiment("deterministic_tree_intermittent").make
WORLDS: dict[str, tuple[Callable[..., MDP], dict[str, Any]]] = {
    "tree, reward at its end": (find_experiment("deterministic_tree").make, {}),
    "tree, rewards on the way": (_TREE, {}),
    "tree of many depths": (lambda seed: irregular_tree(seed), {}),
    # The first action of an episode is chosen before the last step of the one before is learned
    # from, as in the published code.
    "rewards on the way, acts before learning": (_TREE, {"act_before_update": True}),
    "rewards on the way, initial values of 5": (_TREE, {"initial_value": 5.0}),
    "stochastic tree": (find_experiment("stochastic_tree").make, {}),
    "maze": (lambda seed: random_maze(8, seed=np.random.default_rng(seed)), {"discount": 0.99}),
}
"""World -> function that makes it from a seed, and the parameters that differ from the paper's."""


def irregular_tree(seed: int | np.random.SeedSequence) -> MDP:
    """Make a deterministic tree whose episodes have 1 to 5 steps, and rewards of any sign.

    Examples
    --------
    >>> irregular_tree(0).n_states
    342
    """
    regular, rng = deterministic_tree(), np.random.default_rng(seed)
    end, n_actions = regular.n_states - 1, regular.n_actions
    next_state = np.full((end + 1, n_actions), end)
    next_state[:end] = np.reshape(regular.successor, (end, n_actions))
    next_state[rng.random(next_state.shape) < 0.3] = end
    reward = rng.normal(size=next_state.shape)
    reward[end] = 0.0
    return MDP.from_tables(next_state, reward, start=0, terminal=[end])


def compare_with_episodic_control(
    world: str, index: int = 0, *, n_steps: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Compare learners with episodic control in one of `WORLDS`: a row for each.

    `first_difference` is the step at which actions differ first, if they do. `value_difference` is
    the largest difference of an action value at an episode's end, where both learn from the steps
    of episodic control; ends at which backups still wait in a queue are left out. `most_backups`
    is the largest number of backups at an episode's end.

    Examples
    --------
    >>> table = compare_with_episodic_control("tree, reward at its end", n_steps=100)
    >>> table["first_difference"].isna().all(), table["most_backups"].max()
    (np.True_, np.int64(4))
    """
    make, settings = WORLDS[world]
    paper = find_experiment("deterministic_tree").parameters
    world_seed, run_seed = np.random.SeedSequence([seed, index]).spawn(2)
    mdp, number = make(world_seed), int(run_seed.generate_state(1)[0])

    def run(learner: str, own: Mapping[str, Any]) -> tuple[Any, pd.DataFrame]:
        # As in the paper's text; its code adds differences of its own.
        changes = {"priority_only_lowers": False, "act_before_update": False}
        changes |= {**settings, **own}
        known = {key: value for key, value in changes.items() if key in paper[learner]._fields}
        params = paper[learner]._replace(**known)
        return params, simulate(mdp, learner, params, n_steps=n_steps, seed=number).log.steps

    control, steps = run("episodic_control", {})
    expected, _ = _taught("episodic_control", control, mdp, steps)
    rows = []
    for name, (learner, own) in LEARNERS.items():
        params, other = run(learner, own)
        values, n_backups = _taught(learner, params, mdp, steps)
        differs = np.flatnonzero(
            (steps[["state", "action"]] != other[["state", "action"]]).any(axis=1)
        )
        apart = [
            np.abs(ours[tried] - theirs[tried]).max(initial=0.0)
            for ours, theirs in zip(values, expected, strict=True)
            if ours is not None and theirs is not None
            for tried in [np.isfinite(ours) & np.isfinite(theirs)]
        ]
        rows.append(
            {
                "world": world,
                "learner": name,
                "index": index,
                "first_difference": differs[0] if len(differs) else np.nan,
                "value_difference": max(apart, default=np.nan),
                "most_backups": n_backups,
            }
        )
    return pd.DataFrame(rows)


def _taught(
    learner: str, params: Any, mdp: MDP, steps: pd.DataFrame
) -> tuple[list[NDArray[np.float64] | None], int]:
    """Give the action values that steps lead to at each end, and the most backups of an end.

    The values are None while changes of them wait in a queue.
    """
    ends, values = steps["terminated"].to_numpy(), list[NDArray[np.float64] | None]()

    def on_step(step: int, memory: Any) -> None:
        if ends[step]:
            waits = hasattr(memory, "queue") and memory.queue.size[0] > 0
            values.append(None if waits else memory.action_values.copy())

    log = feed(learner, steps, mdp=mdp, params=params, on_step=on_step, log="replay")
    at_ends = log.backups[log.backups["phase"] == "episode_end"]
    return values, int(at_ends.groupby("step").size().max())


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    found = results.read_pieces("pairs").groupby(["world", "learner"], sort=False)
    table = found.agg(
        n_worlds=("index", "size"),
        n_same=("first_difference", lambda steps: int(steps.isna().sum())),
        first_difference=("first_difference", "median"),
        value_difference=("value_difference", "max"),
        most_backups=("most_backups", "max"),
    )
    return {"equivalence.csv": table.reset_index()}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    table = tables["equivalence.csv"]
    same = table["n_same"].astype(str) + " of " + table["n_worlds"].astype(str)
    shown = pd.DataFrame({"world": table["world"], "learner": table["learner"]})
    shown["all actions same"] = same
    shown["values apart by"] = table["value_difference"].map("{:.1g}".format)
    shown["most backups at an end"] = table["most_backups"].map("{:.0f}".format)
    yield Shown("Beside episodic control", shown)


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.panels import new_figure
    from analyses.plots.style import FULL_WIDTH, INCH, figure_style

    table = results.read("equivalence.csv")
    worlds, learners = table["world"].unique(), table["learner"].unique()
    with figure_style():
        figure = new_figure(FULL_WIDTH / INCH, 2.6)
        ax = figure.subplots()
        share = table["n_same"] / table["n_worlds"]
        shares = share.to_numpy().reshape(len(worlds), len(learners))
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
        for place, row in enumerate(table.to_dict("records")):
            text = f"{row['n_same']} of {row['n_worlds']}"
            if row["n_same"] < row["n_worlds"]:
                text += f"\nfrom step {row['first_difference']:.0f} on"
            ax.text(place % len(learners), place // len(learners), text, ha="center", va="center")
        ax.set_xticks(range(len(learners)), [fill(name, 18) for name in learners])
        ax.set_yticks(range(len(worlds)), worlds)
        ax.tick_params(length=0)
        ax.xaxis.tick_top()
        ax.spines[:].set_visible(False)
        ax.set_xlabel("Worlds in which all actions are those of episodic control")
    yield "equivalence", figure


STUDY = Study(
    "equivalence",
    "Where are episodic control and prioritized sweeping one learner?",
    plan=sized(20, *WORLDS),
    make=lambda plan, piece: {
        "pairs": compare_with_episodic_control(piece.group, piece.number, seed=plan.seed)
    },
    summarise=_summarise,
    figures={"equivalence": _draw},
    show=_show,
)
