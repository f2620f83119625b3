"""What a backup would be worth to the agent now: the gain of its policy, and the need of a state.

Of a backup in state s the *gain* is what the policy would earn more there for having changed; the
*need* of s is how often the agent will be there. Their product is the expected value of the backup
[1]_. A change of V(s) is felt where the agent is with the weight of the need of s, as long as the
policy stays the same.

Need is that of the learned model under the current epsilon-greedy policy: nothing else has to be
learned for it, and nothing is sampled. While the agent is awake it is the expected discounted
number of visits until the episode ends, a row of the successor representation [2]_; at an
episode's end, those of the next episode, which begins like the earlier ones did. At rest it is the
share of time spent in a state in the long run, episode after episode [1]_. What follows an action
that is not in the model is unknown: awake it counts for nothing, at rest a new episode begins.

Actions whose value is infinite, since they were never tried, are left out here, as they are of
maxima.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Dayan (1993), Improving generalization for temporal difference learning: the successor
   representation. https://doi.org/10.1162/neco.1993.5.4.613
"""

from typing import Any, NamedTuple

import numpy as np

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST
from replay.parts.markov_chain import (
    MarkovChain,
    expected_visits,
    long_run_shares,
    markov_chain,
    set_edge,
)
from replay.parts.priorities import GAIN, is_appraised
from replay.parts.world_model import WorldModel

__all__ = ["Appraisal", "appraisal", "appraisal_words", "appraise", "appraises", "gain"]
__all__ += ["look_ahead", "note_start"]


class Appraisal(NamedTuple):
    """The arrays of an appraisal. The last state is no state, but the time between episodes.

    Attributes
    ----------
    need : ndarray of float64, shape (n_states + 1,)
        Of each state, since `look_ahead`; 1 before that.
    after : ndarray of float64, shape (n_actions,)
        Room for the action values of one state as they would be.
    starts : ndarray of int64, shape (n_states + 1,)
        How many episodes began in each state, and how many in all.
    chain : MarkovChain
        The moves of the current policy in the learned model, as of the last look ahead.
    """

    need: np.ndarray
    after: np.ndarray
    starts: np.ndarray
    chain: MarkovChain


def appraises(params: Any) -> bool:
    """Tell whether a learner with these parameters chooses by gain or need, and so logs them.

    Examples
    --------
    >>> from replay.learners.full_backups import Params
    >>> from replay.parts.priorities import NEED
    >>> appraises(Params()), appraises(Params(priority=NEED))
    (False, True)
    """
    return bool(is_appraised(params.priority))


def appraisal(params: Any, model: WorldModel) -> Appraisal | None:
    """Make an appraisal of a world of which nothing is known.

    Parameters
    ----------
    params : NamedTuple
        ``priority`` and ``discount`` of a learner.
    model : WorldModel
        Its model of the world.

    Returns
    -------
    Appraisal or None
        The appraisal; None if the priority does not ask for any.

    Raises
    ------
    ValueError
        If need is to be counted over all that is to come without a discount.

    Examples
    --------
    An agent that was once led from 0 over 1 to the end 2, and is in 1 now:

    >>> from replay.log.backups import STEP
    >>> from replay.learners.full_backups import Params
    >>> from replay.parts.priorities import NEED
    >>> from replay.learners.contract import Pause
    >>> from replay.parts.world_model import observe, world_model
    >>> params, model = Params(priority=NEED, discount=0.5), world_model(3, 1, 2)
    >>> seen = appraisal(params, model)
    >>> observe(model, 0, 0, 1, False), observe(model, 1, 0, 2, True)
    (None, None)
    >>> look_ahead(seen, params, model, np.zeros((3, 1)), Pause(STEP, 1, False))
    >>> seen.need[:3].tolist()
    [0.0, 1.0, 0.5]
    """
    if not appraises(params):
        return None
    if params.priority != GAIN and params.discount == 1.0:
        raise ValueError(
            "Need is counted over all that is to come, so a priority with need asks for a discount "
            "below 1, got 1."
        )
    n_states, n_actions = model.visits.shape
    return Appraisal(
        np.ones(n_states + 1),
        np.zeros(n_actions),
        np.zeros(n_states + 1, dtype=np.int64),
        markov_chain(n_states + 1, len(model.edges) + 2 * n_states),
    )


def appraisal_words(appraisal: Appraisal | None) -> int:
    """Count the numbers held: one for each state in which episodes began. The rest is made anew."""
    if appraisal is None:
        return 0
    return int(np.count_nonzero(appraisal.starts[:-1]))


@inlined
def note_start(appraisal, state, first=False):
    """Note that an episode begins in a state; `first`: only if none was noted before."""
    if appraisal is None:
        return
    between = len(appraisal.starts) - 1
    if not first or appraisal.starts[between] == 0:
        appraisal.starts[state] += 1
        appraisal.starts[between] += 1


@inlined
def gain(action_values, state, after, epsilon):
    """Return how much more the policy would earn in a state for a change of its action values.

    Exploration stays as it is, so what counts is the greedy choice: the best of the new values,
    less the mean of the new values of the actions that are best now.

    Parameters
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q as it is.
    state : int
        The state.
    after : ndarray of float64, shape (n_actions,)
        Q of this state as it would be.
    epsilon : float
        Probability of a uniformly random action.

    Returns
    -------
    float
        At least 0.

    Examples
    --------
    The worse of two actions becomes the better one, by 2:

    >>> float(gain(np.array([[1.0, 0.0]]), 0, np.array([1.0, 3.0]), 0.5))
    1.0
    """
    best_before, best_after = -np.inf, -np.inf
    total, n_best = 0.0, 0
    for action in range(len(after)):
        before = action_values[state, action]
        if before == np.inf:
            continue
        best_after = max(best_after, after[action])
        if before > best_before:
            best_before = before
            total, n_best = 0.0, 0
        if before == best_before:
            total += after[action]
            n_best += 1
    return (1.0 - epsilon) * (best_after - total / n_best)


@inlined
def appraise(appraisal, params, action_values, state, action, after):
    """Appraise one backup, for the log.

    Parameters
    ----------
    appraisal : Appraisal or None
        As of the latest look ahead.
    params : NamedTuple
        ``priority`` and ``epsilon`` of a learner.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, before the backup.
    state, action : int
        The pair that is backed up.
    after : float
        Its new value.

    Returns
    -------
    gain, need : float
        Gain, and the need of the state; nan where it is not counted.
    """
    if appraisal is None:
        return np.nan, np.nan
    room = appraisal.after
    for b in range(len(room)):
        room[b] = action_values[state, b]
    room[action] = after
    need = np.nan if params.priority == GAIN else appraisal.need[state]
    return gain(action_values, state, room, params.epsilon), need


@inlined
def look_ahead(appraisal, params, model, action_values, pause):
    """Count the need of all states, if it is asked for.

    Parameters
    ----------
    appraisal : Appraisal or None
        Written to.
    params : NamedTuple
        ``priority``, ``epsilon`` and ``discount`` of a learner.
    model : WorldModel
        What was learned of the world.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    pause : Pause
        When, and where the agent is.
    """
    if appraisal is None:
        return
    if params.priority != GAIN:
        _count_need(appraisal, params, model, action_values, pause)


@inlined
def _count_need(appraisal, params, model, action_values, pause):
    chain, need, starts = appraisal.chain, appraisal.need, appraisal.starts
    between = len(starts) - 1
    _follow_policy(chain, model, action_values, params.epsilon, pause.phase == REST)
    for s in range(between):
        if starts[s] > 0:
            set_edge(chain, between, s, starts[s] / starts[between])
    if pause.phase == REST:
        for s in range(between):
            need[s] = 0.0
        need[between] = 1.0
        long_run_shares(chain, need)
    else:
        origin = between if pause.phase == EPISODE_END else pause.state
        expected_visits(chain, origin, params.discount, need)


@inlined
def _follow_policy(chain, model, action_values, epsilon, goes_on):
    """Write the moves of the policy; if it goes on, new episodes begin where nothing is known."""
    n_states, n_actions = action_values.shape
    chain.n_edges[0] = 0
    chain.first_out[n_states] = -1
    for s in range(n_states):
        chain.first_out[s] = -1
        best, n_best, n_open = -np.inf, 0, 0
        for a in range(n_actions):
            value = action_values[s, a]
            if value < np.inf:
                n_open += 1
                if value > best:
                    best = value
                    n_best = 0
                if value == best:
                    n_best += 1
        known = 0.0
        for a in range(n_actions):
            if model.visits[s, a] > 0.0:
                chance = epsilon / n_open
                if action_values[s, a] == best:
                    chance += (1.0 - epsilon) / n_best
                known += chance
                edge = model.first_out[s, a]
                while edge >= 0:
                    share = model.edges[edge]["count"] / model.visits[s, a]
                    set_edge(chain, s, model.edges[edge]["next_state"], chance * share)
                    edge = model.edges[edge]["next_out"]
        if goes_on and known < 1.0:
            set_edge(chain, s, n_states, 1.0 - known)
