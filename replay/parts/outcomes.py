"""The outcomes of a learned model's transitions, so that experience can be drawn from the model."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.forgetting import remember
from replay.parts.steps_and_pauses import Transition
from replay.parts.world_model import WorldModel, draw_edge, edge_to

__all__ = ["Outcomes", "draw_outcome", "outcome_words", "outcomes_of", "remember_outcome"]

_OUTCOME = np.dtype([("reward", np.float64), ("terminated", np.int8)], align=True)


class Outcomes(NamedTuple):
    """The arrays beside the model.

    Attributes
    ----------
    rows : structured ndarray, shape (n_edges,)
        ``reward`` of each edge of the model, and whether it ``terminated`` the episode.
    pairs : ndarray of int32, shape (n_states * n_actions,)
        The pairs in the model, as state * n_actions + action, each once, in the order of discovery.
    n_pairs : ndarray of int64, shape (1,)
        The number of pairs.
    """

    rows: NDArray[np.void]
    pairs: NDArray[np.int32]
    n_pairs: NDArray[np.int64]


def outcomes_of(model: WorldModel) -> Outcomes:
    """Make room for the outcomes of a model that has observed nothing.

    Examples
    --------
    >>> from replay.learners.contract import Transition
    >>> from replay.parts.world_model import world_model
    >>> model = world_model(3, 2, 4)
    >>> outcomes = outcomes_of(model)
    >>> remember_outcome(outcomes, model, Transition(1, 0, 0.5, 2, -1, True, False))
    >>> edge = draw_outcome(outcomes, model, np.random.default_rng(0))
    >>> int(model.edges[edge]["next_state"]), float(outcomes.rows[edge]["reward"])
    (2, 0.5)
    """
    return Outcomes(
        np.zeros(len(model.edges), dtype=_OUTCOME),
        np.zeros(model.visits.size, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def outcome_words(outcomes: Outcomes, model: WorldModel) -> int:
    """Count the numbers held: one for each pair, and two for each edge."""
    return int(outcomes.n_pairs[0]) + len(_OUTCOME.names or ()) * int(model.n_edges[0])


@inlined
def remember_outcome(outcomes: Outcomes, model: WorldModel, transition: Transition) -> None:
    """Count a transition in the model, and keep its reward and whether it ended the episode."""
    s, a, s_next = transition.state, transition.action, transition.next_state
    if model.visits[s, a] == 0:
        outcomes.pairs[outcomes.n_pairs[0]] = s * model.visits.shape[1] + a
        outcomes.n_pairs[0] += 1
    remember(model, s, a, s_next, transition.terminated)
    outcome = outcomes.rows[edge_to(model, s, a, s_next)]
    outcome["reward"] = transition.reward
    outcome["terminated"] = transition.terminated


@inlined
def draw_outcome(outcomes: Outcomes, model: WorldModel, rng: Generator) -> int:
    """Draw a pair of the model, all alike, and then one of its outcomes, by its probability.

    Return the row in ``model.edges`` and ``outcomes.rows``.
    """
    pair = outcomes.pairs[int(rng.random() * outcomes.n_pairs[0])]
    n_actions = model.visits.shape[1]
    return draw_edge(model, pair // n_actions, pair % n_actions, rng)
