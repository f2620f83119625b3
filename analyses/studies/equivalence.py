"""Where episodic control and prioritized sweeping are one learner, and what they earn elsewhere.

The paper shows that on deterministic trees episodic control, prioritized sweeping, and sweeping
with a model that is emptied at each episode's end learn the same action values [1]_. Here they act
in the same world with the same random numbers, and each also learns from the first steps of
episodic control. ``equivalence.csv`` says

* how often all their actions are the same, and from which step on they differ;
* how far action values at the ends of episodes are apart;
* how many backups an episode costs: with d steps, up to d (d - 1) / 2 if all its states are queued;
* what each earns more than episodic control, where 0 is the random policy and 1 the optimal one;
* how much of a tree the world is: see `tree_likeness`.

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.jobs.study import Shown, SizedPlan, Study, drawn, sized
from analyses.measures.reward_rate import baselines_of
from replay.checks import typed
from replay.checks.arrays import Floats
from replay.experiments import find_experiment
from replay.parts.pauses import END
from replay.simulation import feed, simulate
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

# Rewards on the way, not only at its end
_TREE = find_experiment("deterministic_tree_intermittent").make
WORLDS: dict[str, tuple[Callable[..., MDP], dict[str, Any]]] = {
    "tree, reward at its end": (find_experiment("deterministic_tree").make, {}),
    "tree, rewards on the way": (_TREE, {}),
    "tree of many depths": (lambda seed: changed_tree(seed, ended=0.3), {}),
    # The first action of an episode is chosen before the last step of the one before is learned
    # from, as in the published code.
    "rewards on the way, acts before learning": (_TREE, {"act_before_update": True}),
    "rewards on the way, initial values of 5": (_TREE, {"initial_value": 5.0}),
    "tree, a tenth of branches joined": (lambda seed: changed_tree(seed, joined=0.1), {}),
    "tree, half of branches joined": (lambda seed: changed_tree(seed, joined=0.5), {}),
    "stochastic tree": (find_experiment("stochastic_tree").make, {}),
    "maze": (lambda seed: random_maze(8, seed=np.random.default_rng(seed)), {"discount": 0.99}),
}
"""World -> function that makes it from a seed, and the parameters that differ from the paper's."""


def changed_tree(
    seed: int | np.random.SeedSequence, *, ended: float = 0.0, joined: float = 0.0
) -> MDP:
    """Make a deterministic tree of which some branches end early, or lead into others.

    `ended` and `joined` are shares of the actions. Where actions end early, rewards have any sign.
    """
    regular, rng = deterministic_tree(), np.random.default_rng(seed)
    end, n_actions = regular.n_states - 1, regular.n_actions
    next_state = np.full((end + 1, n_actions), end)
    next_state[:end] = np.reshape(regular.successor, (end, n_actions))
    height = np.asarray(regular.position)[:, 1]
    for s, a in np.argwhere(rng.random(next_state.shape) < joined):
        # A state of the same level, perhaps by chance the same.
        next_state[s, a] = rng.choice(np.flatnonzero(height == height[next_state[s, a]]))
    next_state[rng.random(next_state.shape) < ended] = end
    reward = rng.normal(size=next_state.shape) if ended else rng.random(next_state.shape)
    reward[end] = 0.0
    return MDP.from_tables(next_state, reward, start=0, terminal=[end])


class TreeLikeness(NamedTuple):
    """How much of a deterministic tree a world is; both are 1 in a tree."""

    one_way_in: float  # share of the states with ways in that have one; NaN if there are none
    one_outcome: float  # share of the pairs of state and action that have one outcome


@typed
def tree_likeness(graph: nx.MultiDiGraph) -> TreeLikeness:
    """Say how much of a tree a world is, or what was experienced of it.

    Parameters
    ----------
    graph : networkx.MultiDiGraph
        ``mdp.to_networkx()``, or ``log.graph()`` of a run. What can be reached from a start counts;
        a way in is another state from which a state is entered. Terminal states are left out, since
        nothing is learned in them.

    Raises
    ------
    TypeError
        If `graph` is not such a graph.

    Examples
    --------
    >>> from replay.worlds.mazes import random_maze
    >>> tree_likeness(random_maze(8, seed=1).to_networkx())
    TreeLikeness(one_way_in=0.0, one_outcome=1.0)
    """
    starts = [node for node, share in graph.nodes(data="start_probability") if share]
    if starts:  # of a world, which also has states that nothing leads to
        reached = set(starts).union(*(nx.descendants(graph, start) for start in starts))
        graph = graph.subgraph(reached)
    ways_in = [
        len(set(graph.predecessors(node)) - {node}) for node in graph if graph.out_degree(node)
    ]
    ways_in = [n for n in ways_in if n > 0]
    outcomes = Counter((state, action) for state, _, action in graph.edges(keys=True))
    n_single = sum(n == 1 for n in outcomes.values())
    one_way_in = ways_in.count(1) / len(ways_in) if ways_in else np.nan
    return TreeLikeness(one_way_in, n_single / len(outcomes) if outcomes else np.nan)


def compare_with_episodic_control(
    world: str, index: int = 0, *, n_steps: int = 20_000, n_taught: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Compare learners with episodic control in one of `WORLDS`: a row for each.

    `first_difference` is the step at which actions differ first, if they do. `value_difference` is
    the largest difference of an action value at an episode's end, where both learn from the first
    `n_taught` steps of episodic control; ends at which backups still wait in a queue are left out.
    `most_backups` is the largest number of backups at such an end. `gain` is how much more the
    learner earns than episodic control.
    """
    make, settings = WORLDS[world]
    paper = find_experiment("deterministic_tree").parameters
    world_seed, run_seed = np.random.SeedSequence([seed, index]).spawn(2)
    mdp, number = make(world_seed), int(run_seed.generate_state(1)[0])
    likeness = tree_likeness(mdp.to_networkx())

    def run(learner: str, own: Mapping[str, Any]) -> tuple[Any, pd.DataFrame]:
        # As in the paper's text; its code adds differences of its own.
        changes = {"priority_only_lowers": False, "act_before_update": False}
        changes |= {**settings, **own}
        known = {key: value for key, value in changes.items() if key in paper[learner]._fields}
        params = paper[learner]._replace(**known)
        made = simulate(mdp, learner, params, n_steps=n_steps, seed=number, log="replay")
        return params, made.log.steps

    control, steps = run("episodic_control", {})
    taught = steps[:n_taught]
    expected, _ = _taught("episodic_control", control, mdp, taught)
    between = baselines_of(mdp, discount=control.discount, epsilon=control.epsilon)
    earned = between.normalise(steps["reward"].mean())
    rows = []
    for name, (learner, own) in LEARNERS.items():
        params, other = run(learner, own)
        values, n_backups = _taught(learner, params, mdp, taught)
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
                "gain": between.normalise(other["reward"].mean()) - earned,
                **likeness._asdict(),
            }
        )
    return pd.DataFrame(rows)


def _taught(
    learner: str, params: Any, mdp: MDP, steps: pd.DataFrame
) -> tuple[list[Floats | None], int]:
    """Give the action values that steps lead to at each end, and the most backups of an end.

    The values are None while changes of them wait in a queue.
    """
    ends, values = steps["terminated"].to_numpy(), list[Floats | None]()

    def on_step(step: int, memory: Any) -> None:
        if ends[step]:
            waits = hasattr(memory, "queue") and memory.queue.size[0] > 0
            values.append(None if waits else memory.action_values.copy())

    log = feed(learner, steps, mdp=mdp, params=params, on_step=on_step, log="replay")
    at_ends = log.backups[log.backups["phase"] == "episode_end"]
    return values, int(at_ends.groupby("step").size().max())


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    pairs, by = results.read_pieces("pairs"), ["world", "learner"]
    found = pairs.groupby(by, sort=False)
    table = found.agg(
        n_worlds=("index", "size"),
        n_same=("first_difference", lambda steps: int(steps.isna().sum())),
        first_difference=("first_difference", "median"),
        value_difference=("value_difference", "max"),
        most_backups=("most_backups", "max"),
        one_way_in=("one_way_in", "mean"),
        one_outcome=("one_outcome", "mean"),
    )
    gains = mean_interval(pairs, "gain", by).set_index(by)[["mean", "ci_low", "ci_high"]]
    gains.columns = ["gain", "gain_low", "gain_high"]
    return {"equivalence.csv": table.join(gains).reset_index()}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    for world, table in tables["equivalence.csv"].groupby("world", sort=False):
        first = table.iloc[0]
        shown = pd.DataFrame({"learner": table["learner"]})
        shown["all actions same"] = [
            f"{a} of {b}" for a, b in zip(table["n_same"], table["n_worlds"], strict=True)
        ]
        shown["values apart by"] = table["value_difference"].map("{:.1g}".format)
        shown["most backups at an end"] = table["most_backups"].map("{:.0f}".format)
        shown["earns more by"] = table["gain"].map("{:.3f}".format)
        yield Shown(
            f"{world} (one way in: {first['one_way_in']:.2f} of states, one outcome: "
            f"{first['one_outcome']:.2f} of actions), beside episodic control",
            shown,
        )


def equivalence_figure(table: pd.DataFrame) -> Figure:
    """Draw, for each kind of world and learner, in how many worlds all actions are the same."""
    from analyses.plots.panels import new_figure
    from analyses.plots.style import FULL_WIDTH, INCH, figure_style

    worlds, learners = table["world"].unique(), table["learner"].unique()
    with figure_style():
        figure = new_figure(FULL_WIDTH / INCH, 0.3 * len(worlds) + 0.9)
        ax = figure.subplots()
        share = (table["n_same"] / table["n_worlds"]).to_numpy()
        shape = len(worlds), len(learners)
        # The darkest colour is left out, on which black numbers could not be read.
        ax.imshow(share.reshape(shape), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
        for place, row in enumerate(table.to_dict("records")):
            text = f"{row['n_same']} of {row['n_worlds']}"
            if row["n_same"] < row["n_worlds"]:
                # Adding 0 makes a zero of -0.
                text += f"\nreward {round(row['gain'], 2) + 0.0:+.2f}"
            ax.text(place % shape[1], place // shape[1], text, ha="center", va="center")
        ax.set_xticks(range(shape[1]), [fill(name, 15) for name in learners])
        ways = table.drop_duplicates("world")["one_way_in"]
        ax.set_yticks(
            range(shape[0]), [f"{name} ({n:.2f})" for name, n in zip(worlds, ways, strict=True)]
        )
        ax.tick_params(length=0)
        ax.xaxis.tick_top()
        ax.spines[:].set_visible(False)
        ax.set_xlabel(
            "Worlds in which all actions are those of episodic control, and what is earned more"
        )
        ax.set_ylabel("World (share of states with one way in)")
    return figure


STUDY = Study(
    "equivalence",
    "Where are episodic control and prioritized sweeping one learner?",
    plan=sized(20, *WORLDS),
    make=lambda plan, piece: {
        "pairs": compare_with_episodic_control(piece.group, piece.number, seed=plan.seed)
    },
    summarise=_summarise,
    figures={"equivalence": drawn("equivalence:equivalence_figure", "equivalence.csv")},
    show=_show,
)
