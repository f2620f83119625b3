"""Let a learner act in a world, or in several with several seeds, and log its steps and backups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, zip_longest
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from replay.checks import (
    check_choice,
    check_function,
    check_list,
    check_whole,
    known_arguments,
    shown,
)
from replay.checks.arrays import Floats, Ints
from replay.encoders.contract import Encoder
from replay.learners import Learner, check_computes_values, find_learner
from replay.learners.contract import Sizes
from replay.log.blocks import LogBlock, window_ends
from replay.log.event_log import EventLog
from replay.log.worlds import closed_moves
from replay.simulation.driver import Driver, LogWriter, replay_stream, way_back, world_tables
from replay.simulation.encoded import act_encoded, in_places
from replay.simulation.loop import draw_start
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

if TYPE_CHECKING:
    from gymnasium import Env


_STARTS = ("start_state", "start_cumulative")
_MOST_STEPS = 10**15  # a hundred days even of the fastest learner


@dataclass(frozen=True, repr=False)
class Run:
    """The result of a simulation: one learner in one world.

    Attributes
    ----------
    learner : Learner
        Name, module and parameters.
    mdp : MDP or None
        The world; the first one if it changes. None if an encoder made the states.
    seed : int
        Together with learner, parameters and world it determines the run.
    log : EventLog
        Steps and backups; empty tables with ``log="none"``. If an encoder made the states, its
        world is what was met of it, in codes: how often and with what mean reward each followed
        another, and the mean position at which each was met, where the environment gives it.
    memory : NamedTuple
        The learner's memory at the end.
    window_ends : ndarray of int64, shape (n_windows,)
        The step at which each window ends.
    window_rewards : ndarray of float64, shape (n_windows,)
        The sum of the rewards in each window.
    protocol : Protocol, optional
        The phases, if the world changes.
    codes : DataFrame, optional
        If an encoder made the states: at each `step` the `code` that was the state, how often the
        encoder had been fitted again (`n_refits`), and, as far as the environment gives them in its
        `info`, the true `state` and the `next_state` entered (-1 if unknown), and the position `x,
        y` (NaN if unknown).
    places : DataFrame, optional
        If an encoder made the states: after each number of refits (`n_refits`), and for each
        `code`, how often it was met (`n_met`), also when the run so far was encoded again; the true
        `state` in which it was met most often, in what `share`, in how many different states
        (`n_states`), and its mean position `x, y`.
    changes : DataFrame, optional
        If an encoder made the states: for each time that it was fitted again (`n_refits`, after
        `step`), what was met until then (`n_met` observations) by its code `before` and `after`. A
        code was split if several came after it, merged if several were before, and moved if it has
        another number. The learner then learned all again; the log's provenance has these steps,
        too (`learned_again_after`), and the `codes_of_several_states`: a twentieth or more of
        each was met elsewhere than in its most frequent state.

    Examples
    --------
    >>> from replay import from_ascii
    >>> simulate(from_ascii("S..G"), "q_learning", n_steps=1000)
    Run('q_learning' in 'maze', 1,000 steps, seed 0, 0.293 reward per step)
    """

    learner: Learner
    mdp: MDP | None
    seed: int
    log: EventLog
    memory: Any
    window_ends: Ints
    window_rewards: Floats
    protocol: Protocol | None = None
    codes: pd.DataFrame | None = None
    places: pd.DataFrame | None = None
    changes: pd.DataFrame | None = None

    @cached_property
    def reward_rate(self) -> pd.DataFrame:
        """``time_step`` (a window's end) and ``reward_rate`` (mean reward of its steps)."""
        lengths = np.diff(self.window_ends, prepend=0)
        rates = self.window_rewards / lengths
        return pd.DataFrame({"time_step": self.window_ends, "reward_rate": rates})

    def in_places(self, mdp: MDP | None = None) -> EventLog:
        """Return the log in true states instead of codes, if the environment gives them.

        Steps have the true states. Each code stands for the state in which it was met most often
        (`places`), so that backups of codes become backups of states: ``analyses.classify(run)``
        and ``analyses.classify(run.in_places())`` say whether replay of codes is of the same kind
        as replay of the places that they stand for.

        Parameters
        ----------
        mdp : MDP, optional
            The world of these states, so that figures and the page can draw it.

        Examples
        --------
        >>> from replay import from_ascii
        >>> from replay.encoders import KMeans
        >>> from replay.worlds.observations import place_code
        >>> maze = from_ascii("S..G")
        >>> env = place_code(maze, noise=0.01)
        >>> run = simulate(env, "episodic_control", encoder=KMeans(4, 500), n_steps=100, seed=1)
        >>> sorted(run.in_places(maze).steps["state"].unique().tolist())
        [0, 1, 2]
        """
        return in_places(self.log, self.codes, self.places, mdp)

    @property
    def _world(self) -> str:
        world = self.mdp if self.protocol is None else self.protocol
        return str(self.log.runs["mdp"].iloc[0]) if world is None else world.name

    def __repr__(self) -> str:
        """Show learner, world, number of steps, seed and reward rate."""
        n_steps = int(self.window_ends[-1])
        return (
            f"Run({self.learner.name!r} in {self._world!r}, {n_steps:,} steps, seed "
            f"{self.seed}, {self.window_rewards.sum() / n_steps:.3g} reward per step)"
        )

    def _repr_html_(self) -> str:
        n_steps = int(self.window_ends[-1])
        facts = {
            "learner": self.learner,
            "world": self._world if self.mdp is None else self.protocol or self.mdp,
            "steps": f"{n_steps:,}",
            "seed": self.seed,
            "reward per step": f"{self.window_rewards.sum() / n_steps:.3g}",
            "log": self.log,
        }
        return pd.Series(facts).map(str).to_frame("Run").to_html()


# Many parameters: what a user may set of a run is set in one call, here and in `feed`.
@known_arguments
def simulate(
    mdp: MDP | Protocol | Env[Any, Any],
    learner: Any,
    params: Any = None,
    *,
    encoder: Encoder | None = None,
    n_steps: int | None = None,
    max_episode_steps: int | None = None,
    seed: int = 0,
    log: str = "replay",
    n_windows: int = 100,
    on_block: Callable[[LogBlock], None] | None = None,
) -> Run:
    """Let a learner act in a world.

    Parameters
    ----------
    mdp : MDP, Protocol or gymnasium.Env
        The world, or the phases of one that changes; with an encoder, a Gymnasium environment with
        numbered actions.
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    encoder : Encoder, optional
        Makes states from observations, such as ``replay.encoders.KMeans(300)``. It first observes a
        random walk, which is neither logged nor learned from, and counts no steps.
    n_steps : int
        Number of steps over all episodes; leave it out for a protocol, which has its own.
    max_episode_steps : int, optional
        Episodes are cut off after so many steps.
    seed : int, default 0
        Seed of all randomness.
    log : {"replay", "all", "none"}, default "replay"
        What is logged: steps and replay; steps and every backup; nothing.
    n_windows : int, default 100
        Number of windows of the reward rate, into which the steps are divided.
    on_block : callable, optional
        Called as ``on_block(block)`` with one part of the log after the other, a `LogBlock`, cut
        between steps. The run keeps none of them, so it needs little memory however long it is.
        Not with an encoder.

    Raises
    ------
    TypeError
        If `mdp` is neither an MDP nor a protocol; with an encoder, if it is no environment.
    ValueError
        If a parameter is out of range, or the learner needs episodes and the world has none; with
        an encoder, if actions are not numbered, or observations are not numbers of one shape.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=1000)
    >>> len(run.log.steps)
    1000
    >>> counts = []
    >>> long = simulate(from_ascii("S..G"), "episodic_control", n_steps=1_000_000,
    ...                 on_block=lambda block: counts.append(block.n_backups))
    >>> len(counts) > 1, len(long.log.steps)
    (True, 0)
    """
    found = find_learner(learner, params)
    seed = check_whole("seed", seed)
    if max_episode_steps is not None:
        max_episode_steps = check_whole("max_episode_steps", max_episode_steps, at_least=1)
    n_windows = check_whole("n_windows", n_windows, at_least=1)
    check_choice("log", log, ("replay", "all", "none"))
    if on_block is not None:
        check_function("on_block", on_block, "a block")
        if log == "none" or encoder is not None:
            raise ValueError(
                "on_block receives the log, so log must be 'replay' or 'all'. With an encoder the "
                "log is not cut into blocks: leave out on_block."
            )
    if encoder is not None:
        number = check_whole("n_steps", n_steps, at_least=1, at_most=_MOST_STEPS)
        ends = window_ends(number, min(n_windows, number))
        longest = max_episode_steps or number + 1
        made = act_encoded(cast("Any", mdp), found, encoder, ends, longest, seed, log)
        return Run(found, None, seed, window_ends=ends, **made._asdict())
    if isinstance(mdp, MDP):
        number = check_whole("n_steps", n_steps, at_least=1, at_most=_MOST_STEPS)
        phases: tuple[Phase, ...] = (Phase(mdp, number),)
    elif isinstance(mdp, Protocol):
        phases = mdp.phases
        if n_steps is not None:
            raise ValueError(
                f"The phases of {mdp.name!r} have {mdp.n_steps} steps in all: leave out n_steps, "
                f"got {n_steps!r}."
            )
    elif hasattr(mdp, "observation_space"):
        raise TypeError(
            f"{shown(mdp)} is a Gymnasium environment, whose observations become states by an "
            "encoder: give encoder=, such as replay.encoders.KMeans(300). MDP.from_gymnasium "
            "makes a world of one that lists its transitions, such as FrozenLake."
        )
    else:
        raise TypeError(
            f"mdp must be an MDP or a Protocol, got {shown(mdp)}: MDP.from_tables, "
            "MDP.from_gymnasium and the builders in replay.worlds make one. Tasks are for run_task."
        )
    _check_worlds(found, phases)
    first, n_steps = phases[0].mdp, sum(phase.n_steps for phase in phases)
    protocol = mdp if isinstance(mdp, Protocol) else None
    writer = LogWriter(
        log, found, first, name=mdp.name, seed=seed, n_steps=n_steps, on_block=on_block
    )
    longest = max_episode_steps or n_steps + 1  # which is never reached
    ends = window_ends(n_steps, min(n_windows, n_steps))
    driver = _lived(found, mdp, phases, writer, longest, seed, ends)
    event_log, rewards = driver.finish(), driver.clock.rewards[:-1]
    return Run(found, first, seed, event_log, driver.memory, ends, rewards, protocol)


def _lived(
    learner: Learner,
    mdp: MDP | Protocol,
    phases: Sequence[Phase],
    writer: LogWriter,
    longest: int,
    seed: int,
    ends: Ints,
) -> Driver:
    """Take a learner through all phases, each with its rest."""
    first = phases[0].mdp
    if isinstance(mdp, Protocol) and len(phases) > 1:
        begins = [0, *mdp.changes.tolist()]
        writer.closed = closed_moves(zip(begins, (each.mdp for each in phases), strict=True))
    sizes = Sizes(
        n_states=first.n_states,
        n_actions=first.n_actions,
        n_transitions=max(mdp.n_transitions, 1),
        n_steps=min(longest, max(phase.n_steps for phase in phases)),
        n_links=mdp.n_links,
        way_back=way_back(learner, mdp, first.n_actions),
    )
    rng = np.random.default_rng(seed)
    stream = replay_stream(seed) if learner.replays else None
    driver = Driver(
        learner, sizes, writer, rng=rng, replay_rng=stream, known=first, window_ends=ends
    )
    world, *following = (world_tables(phase.mdp) for phase in phases)
    driver.begin(int(draw_start(world, rng)))
    for phase, then in zip_longest(phases, following):
        # The last step of a phase ends its episode, and the next one begins in the next world.
        is_cut = then is not None or phase.n_rest > 0
        driver.act(world, phase.n_steps - is_cut, longest)
        if is_cut:
            starts = {name: getattr(then or world, name) for name in _STARTS}
            cut = int(driver.clock.episode_steps[0]) + 1
            driver.act(world._replace(**starts), 1, cut, phase.n_rest)
            world = then or world
    return driver


def _check_worlds(found: Learner, phases: Sequence[Phase]) -> None:
    """Refuse worlds in which this learner cannot learn, or its values are unbounded."""
    why = cure = ""
    if found.description.computes_values and found.params.discount == 1.0:
        why, cure = "with a discount of 1 values are sums over an episode", "use a discount below 1"
    elif found.description.needs_episodes:
        why, cure = f"{found.name!r} learns at an episode's end", "choose another learner"
    for mdp in (phase.mdp for phase in phases if why):
        if mdp.dead_ends.size:
            raise ValueError(
                f"No terminal state can be reached from {mdp.dead_ends.size} of the {mdp.n_states} "
                f"states of {mdp.name!r}, such as state {mdp.dead_ends[0]}, but {why}: {cure}, or "
                "make a state terminal."
            )
    # A start from which no end can be reached may be one in one phase, but not in all.
    starts = np.concatenate([phase.mdp.start_states for phase in phases])
    lost = np.concatenate([phase.mdp.lost_starts for phase in phases])
    n_starts, n_lost = (np.bincount(each, minlength=starts.max() + 1) for each in (starts, lost))
    for state in np.flatnonzero((n_lost > 0) & (n_lost == n_starts))[:1]:
        mdp = next(phase.mdp for phase in phases if state in phase.mdp.lost_starts)
        raise ValueError(
            f"No path leads from the start to an end of {mdp.name!r}: none of its "
            f"{np.count_nonzero(mdp.terminal)} terminal states can be reached from state {state}, "
            "in which episodes may start. Open a path, or leave out the end or this start."
        )


_MOST_RUNS = 100_000
_OWN_COLUMNS = ("seed", "time_step", "reward_rate")


@known_arguments
def sweep(
    mdp: MDP | Protocol,
    learner: Any,
    params: Mapping[str, Any],
    *,
    n_steps: int | None = None,
    n_seeds: int = 5,
    max_episode_steps: int | None = None,
    seed: int = 0,
    n_windows: int = 100,
) -> pd.DataFrame:
    """Let a learner act in a world with each of several values of its parameters.

    Parameters
    ----------
    mdp : MDP or Protocol
        The world, or the phases of one that changes.
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    params : mapping
        Parameter -> list of its values, or one value. With several lists, all combinations are run.
    n_steps, max_episode_steps, n_windows
        As for `simulate`.
    n_seeds : int, default 5
        Runs per combination; all combinations have the same seeds.
    seed : int, default 0
        Seed of all randomness.

    Returns
    -------
    pandas.DataFrame
        One row per window of a run: a column for each parameter with a list, `seed` (the number of
        the run, from 0), `time_step` (the window's end) and `reward_rate` (mean reward of its
        steps).

    Examples
    --------
    >>> from replay import random_maze
    >>> table = sweep(random_maze(8, seed=1), "q_learning", {"learning_rate": [0.01, 0.3]},
    ...               n_steps=2000, n_seeds=3)
    >>> table.groupby("learning_rate")["reward_rate"].mean().round(2).to_dict()
    {0.01: 0.18, 0.3: 0.16}
    """
    if not isinstance(params, Mapping):
        raise TypeError(
            "params must map parameters to lists of values, such as {'learning_rate': [0.1, 0.3]}; "
            f"got {shown(params)}."
        )
    lists = {
        name: check_list(name, values)
        for name, values in params.items()
        if not isinstance(values, str | int | float | np.generic)
    }
    if not lists or not all(lists.values()):
        raise ValueError(
            "At least one parameter must have a list of values, such as "
            f"{{'learning_rate': [0.1, 0.3]}}; got {shown(dict(params))}."
        )
    for name, values in lists.items():
        if name in _OWN_COLUMNS or len(set(map(repr, values))) < len(values):
            raise ValueError(f"Each value of {name!r} must be given once; got {shown(values)}.")
    n_seeds = check_whole("n_seeds", n_seeds, at_least=1, at_most=_MOST_RUNS)
    seed = check_whole("seed", seed)
    fixed = {name: value for name, value in params.items() if name not in lists}
    settings = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    found = [find_learner(learner, {**fixed, **setting}) for setting in settings]  # all are checked
    check_computes_values(found[0])
    run_seeds = np.random.SeedSequence(seed).generate_state(n_seeds, np.uint32).tolist()
    rows = []
    for setting, each in zip(settings, found, strict=True):
        for number, run_seed in enumerate(run_seeds):
            run = simulate(
                mdp,
                each,
                n_steps=n_steps,
                max_episode_steps=max_episode_steps,
                seed=run_seed,
                log="none",
                n_windows=n_windows,
            )
            rows.append(run.reward_rate.assign(**setting, seed=number))
    return pd.concat(rows, ignore_index=True)[[*lists, *_OWN_COLUMNS]]
