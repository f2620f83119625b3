"""Spectral generator: places drawn one after the other from a propagator of the learned graph.

It computes no values. It learns a graph of places, joined wherever a move led from one to the
other, in either direction. The generator of the graph is O = T - I, with T the random walk on it.
The propagator that is sampled has the eigenvectors of the generator, and eigenvalues modulated as
in grid cells along the dorsoventral axis:

    P = sum over k of exp(-|lambda_k|^alpha / tau) phi_k phi_k^-1

With alpha = 1 this is diffusion, the matrix exponential of O / tau. With alpha below 1 it is
superdiffusion: large spatial scales have more weight, and there are jumps to remote places. With
alpha above 1, which the authors call turbulence, entries may be negative; then the lowest entry of
a row is subtracted from the whole row, as in their code. A place that was rewarded when it was last
entered is left `goal_weight` times more slowly, so that superdiffusion, unlike diffusion,
over-represents it from afar. Awake, sampling begins where the agent is; at rest, at any known
place.

The published code scales O by a jump rate r and by sigma^2. Neither is needed here: only
(r sigma^2)^alpha / tau matters, so that figures 2 and 3, with r = 1 and 15, have tempo 1 and, for
alpha = 0.5, 5 / sqrt(15). The paper's environments are given, while ours are learned; it does not
say where sampling begins at rest, nor which pauses have how many places.

The paper's third regime is the spectrum for which places recur least within nine steps
(`least_autocorrelated`, :mod:`replay.learners.spectral_generator.propagator`). It is
found by an optimiser outside the compiled loop, so its graph is not learned: it is that of the
world, known before the first step, and goals have no effect. On most graphs it jumps to all other
places with nearly equal probability.

References
----------
.. [1] McNamee et al. (2021), Flexible modulation of sequence generation in the
   entorhinal-hippocampal system. https://doi.org/10.1038/s41593-021-00831-7
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.arrays import Bools, Floats
from replay.learners import ranges
from replay.learners.contract import Between, Description, Pause, Sizes, Transition
from replay.learners.spectral_generator import propagator
from replay.learners.spectral_generator.propagator import Propagator
from replay.learners.value_free import act, most_backups, n_words
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.pauses import IN_PAUSES, is_due, phases_of
from replay.parts.places import Numbering, join, known_world, likeliest_outcomes, numbering
from replay.worlds.mdp import MDP

__all__ = ["Memory", "Params", "act", "description", "explore", "init", "learn", "most_backups"]
__all__ += ["n_words", "replay"]


class Params(NamedTuple):
    """Parameters of the spectral generator.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    tempo : float
        tau: the smaller it is, the further a sequence goes from one place to the next.
    stability : float
        alpha: 1 is diffusion, less is superdiffusion, more is turbulence.
    goal_weight : float
        How many times more slowly a rewarded place is left than the others.
    dwell : bool
        Whether a place may follow itself.
    least_autocorrelated : bool
        Whether to use the least autocorrelated spectrum instead; the world is then known.
    n_replays : int
        Number of places reactivated per pause, after the first.
    """

    tempo: Annotated[float, Between(1e-3, 1e6)] = 1.0
    stability: Annotated[float, Between(0.01, 10.0)] = 1.0
    goal_weight: Annotated[float, Between(1.0, 1e6)] = 1.0
    dwell: bool = False
    least_autocorrelated: bool = False
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of the spectral generator."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far
    is_linked: Bools  # (n_states, n_states): which of them are joined, by their numbers
    # (n_states,): which of them were rewarded when last entered, by their numbers
    is_goal: Bools
    propagator: Propagator  # P, between known places, as of the latest pause
    is_stale: Bools  # (1,): whether P is out of date


def description(params: Params) -> Description:
    regime = "diffusion" if params.stability == 1.0 else "turbulence"
    regime = "superdiffusion" if params.stability < 1.0 else regime
    regime = "least autocorrelated" if params.least_autocorrelated else regime
    return Description(
        "a graph of places",
        phases=phases_of(params.replay_at),
        priority=f"{regime} on the graph",
        source="McNamee et al. 2021",
        label="Spectral generator, diffusion" if regime == "diffusion" else f"Spectral, {regime}",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states = sizes.n_states
    return Memory(
        np.zeros((n_states, sizes.n_actions)),
        numbering(n_states),
        np.zeros((n_states, n_states), dtype=np.bool_),
        np.zeros(n_states, dtype=np.bool_),
        propagator.propagator_of(n_states),
        np.zeros(1, dtype=np.bool_),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Compute the least autocorrelated propagator of the world's graph, if it is asked for."""
    if params.least_autocorrelated:
        n_actions = memory.action_values.shape[1]
        next_state = likeliest_outcomes(known_world("least_autocorrelated", mdp, n_actions))
        for s, a in np.argwhere(next_state >= 0):
            join(memory.known, memory.is_linked, s, next_state[s, a])
        n = int(memory.known.n[0])
        solved = propagator.least_autocorrelated(memory.is_linked[:n, :n])
        propagator.set_probabilities(memory.propagator, solved, params.dwell)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Join the two places, and note whether the second is rewarded, unless the graph is known."""
    if params.least_autocorrelated:
        return
    is_new = join(memory.known, memory.is_linked, transition.state, transition.next_state)
    j, is_goal = memory.known.number[transition.next_state], transition.reward > 0.0
    if is_new or memory.is_goal[j] != is_goal:
        memory.is_goal[j] = is_goal
        memory.is_stale[0] = True


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Draw one place after the other."""
    n, places, P = memory.known.n[0], memory.known.met, memory.propagator
    if not is_due(params.replay_at, pause.phase) or n == 0 or params.n_replays == 0:
        return
    if memory.is_stale[0]:
        graph = memory.is_linked[:n, :n], memory.is_goal[:n], params.goal_weight
        propagator.propagate(P, *graph, params.tempo, params.stability, params.dwell)
        memory.is_stale[0] = False
    here = int(rng.random() * n) if pause.phase == REST else memory.known.number[pause.state]
    if here < 0:
        return
    for pop in range(params.n_replays):
        following = propagator.draw_next(P, n, here, rng)
        if following < 0:
            break
        priority = propagator.probability_of_next(P, n, here, following)
        reactivate(log, pause.phase, places[here], places[following], priority, pop)
        here = following
