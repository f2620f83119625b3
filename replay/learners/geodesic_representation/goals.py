"""The goals that an agent knows, and the paths to them: policies, their gain, and their need.

The probability of a goal moves towards 1 when it pays. When it does not, the probability moves
towards 0, and those of the others towards equal shares of the rest, so that their sum stays 1.

A policy towards a goal uses the latest known outcome of each action, and ends in the goal, so each
goal has its own Markov chain. All chains have the edges of the learned model, in the same order,
and differ in their probabilities. Policies are recomputed only where values have changed, and
visits only where policies have.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import inlined
from replay.parts.elimination import Elimination, elimination, solve_visits_from
from replay.parts.experiences import Numbering, meet, numbering
from replay.parts.markov_chain import MarkovChain, markov_chain, set_edge
from replay.parts.policies import SOFTMAX, Policy
from replay.parts.world_model import WorldModel, count_transition, edge_to

_Table = TypeVar("_Table", MarkovChain, Elimination)


class Goals(NamedTuple):
    """The goals that are known."""

    n: Ints  # (1,): the number of goals
    place: Int32s  # (n_goals,): the state of each goal
    number: Int32s  # (n_states,): which goal a state is; -1 if none
    # (n_goals,): w, the probability that each is the next goal; the sum is 1
    likely: Floats
    reward: Floats  # (n_goals,): v, what each goal paid recently


def goals_of(n_goals: int, n_states: int) -> Goals:
    """Make room for goals, none of which is known yet."""
    return Goals(
        n=np.zeros(1, dtype=np.int64),
        place=np.full(n_goals, -1, dtype=np.int32),
        number=np.full(n_states, -1, dtype=np.int32),
        likely=np.zeros(n_goals),
        reward=np.zeros(n_goals),
    )


@inlined
def new_goal(goals: Goals, s: int) -> int:
    """Make a state a goal, which is then as probable as goals are on average."""
    g: int = goals.n[0]
    if g < len(goals.place):
        goals.n[0] += 1
    else:
        g = int(goals.likely.argmin())
        goals.number[goals.place[g]] = -1
        _share(goals, g, 0.0, 1.0)
    goals.place[g], goals.number[s] = s, g
    goals.likely[g], goals.reward[g] = 0.0, 0.0
    _share(goals, g, 1.0, 1.0 / goals.n[0])
    return g


@inlined
def note_visit(goals: Goals, g: int, pays: bool, rate: float) -> None:
    """Update the probability of each goal after a visit to one of them."""
    if pays or goals.n[0] > 1:
        _share(goals, g, 1.0 if pays else 0.0, rate)


@inlined
def _share(goals: Goals, g: int, target: float, rate: float) -> None:
    """Move w of one goal towards a target, and those of the others to equal shares of the rest."""
    n = goals.n[0]
    for j in range(n):
        aim = target if j == g else (1.0 - target) / max(n - 1, 1)
        goals.likely[j] += rate * (aim - goals.likely[j])


class GoalNeed(NamedTuple):
    """The paths to all goals."""

    visits: Floats  # (n_goals, n_states): need, as computed last
    is_due: Bools  # (n_goals,): which rows of `visits` have to be recomputed
    begin: Floats  # (n_states,): the probability that the agent starts from each state
    # (n_states, n_actions): the edge that each pair took last; -1 if it was never tried
    latest: Int32s
    stale: Numbering  # Where policy and gain have to be recomputed, as goal * n_states + state
    # (n_actions,): workspace for the unnormalised probabilities of actions
    weights: Floats
    # The chain of each goal; all arrays have the goal as an additional first axis
    chains: MarkovChain
    # What is kept from one computation of expected visits to the next, with the same axis
    eliminations: Elimination


def goal_need(n_goals: int, n_states: int, n_actions: int, n_edges: int) -> GoalNeed:
    """Make the need of an agent that knows no move: 0 everywhere."""
    return GoalNeed(
        visits=np.zeros((n_goals, n_states)),
        is_due=np.zeros(n_goals, dtype=np.bool_),
        begin=np.zeros(n_states),
        latest=np.full((n_states, n_actions), -1, dtype=np.int32),
        stale=numbering(n_goals * n_states),
        weights=np.zeros(n_actions),
        chains=_for_each(markov_chain(n_states, n_edges), n_goals),
        eliminations=_for_each(elimination(n_states, n_edges), n_goals),
    )


def _for_each(table: _Table, n_goals: int) -> _Table:
    fields = {name: np.stack([field] * n_goals) for name, field in table._asdict().items()}
    return table._replace(**fields)


@inlined
def _chain(need: GoalNeed, goal: int) -> MarkovChain:
    chains = need.chains
    return MarkovChain(
        edges=chains.edges[goal],
        n_edges=chains.n_edges[goal],
        first_out=chains.first_out[goal],
        has_moved=chains.has_moved[goal],
        arriving=chains.arriving[goal],
    )


@inlined
def _elimination(need: GoalNeed, goal: int) -> Elimination:
    each = need.eliminations
    return Elimination(
        order=each.order[goal],
        place=each.place[goal],
        begin_later=each.begin_later[goal],
        begin_earlier=each.begin_earlier[goal],
        later=each.later[goal],
        earlier=each.earlier[goal],
        onward=each.onward[goal],
        back=each.back[goal],
        leaving=each.leaving[goal],
        lost=each.lost[goal],
        row=each.row[goal],
        is_new=each.is_new[goal],
        neighbour=each.neighbour[goal],
        next_one=each.next_one[goal],
        first_one=each.first_one[goal],
        degree=each.degree[goal],
        mark=each.mark[goal],
        n_edges=each.n_edges[goal],
    )


@inlined
def mark_changed(need: GoalNeed, model: WorldModel, goal: int, s: int) -> None:
    """Mark policy and gain as stale in a state whose values changed, and in its predecessors."""
    first = goal * need.visits.shape[1]
    meet(need.stale, first + s)
    edge = model.first_in[s]
    while edge >= 0:
        meet(need.stale, first + model.edges[edge]["state"])
        edge = model.edges[edge]["next_in"]


@inlined
def note_move(need: GoalNeed, model: WorldModel, n_goals: int, s: int, a: int, s_next: int) -> None:
    """Remember a move, even if it ends an episode: other paths may lead on from there."""
    n_known, before = model.n_edges[0], need.latest[s, a]
    count_transition(model, s, a, s_next, False)
    edge = edge_to(model, s, a, s_next)
    if edge == before:
        return
    need.latest[s, a] = edge
    for goal in range(len(need.visits)):
        if model.n_edges[0] > n_known:
            set_edge(_chain(need, goal), s, s_next, 0.0)
        if before >= 0:
            _set_chance(need, goal, before, s, 0.0)
        if goal < n_goals:
            mark_changed(need, model, goal, s)


@inlined
def _set_chance(need: GoalNeed, goal: int, edge: int, s: int, probability: float) -> None:
    """Set the probability of an edge from its state, on the way to a goal."""
    if need.chains.edges[goal, edge]["probability"] != probability:
        need.chains.edges[goal, edge]["probability"] = probability
        need.chains.has_moved[goal, s] = True
        need.is_due[goal] = True


@inlined
def _weight(policy: Policy, value: float, best: float) -> float:
    if policy.kind == SOFTMAX:
        return math.exp(policy.inverse_temperature * (value - best))
    return 1.0 if value == best else 0.0


@inlined
def set_policy(
    need: GoalNeed, policy: Policy, goal: int, s: int, values: Floats, goes_on: bool
) -> None:
    """Set the probability of each move from a state, on the way to a goal.

    `values` (n_states, n_actions) are those for this goal: the nearer a pair is to it, the larger.
    """
    best, total = -np.inf, 0.0
    for a in range(values.shape[1]):
        if need.latest[s, a] >= 0:
            best = max(best, values[s, a])
    for a in range(values.shape[1]):
        if need.latest[s, a] >= 0:
            need.weights[a] = _weight(policy, values[s, a], best)
            total += need.weights[a]
    for a in range(values.shape[1]):
        if need.latest[s, a] >= 0:
            chance = need.weights[a] / total if goes_on else 0.0
            _set_chance(need, goal, need.latest[s, a], s, chance)


@inlined
def gain_on_the_way(need: GoalNeed, policy: Policy, goal: int, s: int, values: Floats) -> float:
    """Return how much more the policy for present values earns from a state than the one set."""
    latest, chances = need.latest, need.chains.edges[goal]
    best, total, mean, earned = -np.inf, 0.0, 0.0, 0.0
    for a in range(values.shape[1]):
        if latest[s, a] >= 0:
            best = max(best, values[s, a])
            earned += chances[latest[s, a]]["probability"] * values[s, a]
    if policy.kind != SOFTMAX:
        return best - earned
    for a in range(values.shape[1]):
        if latest[s, a] >= 0:
            weight = _weight(policy, values[s, a], best)
            total += weight
            mean += weight * values[s, a]
    return mean / total - earned


@inlined
def begin_at(need: GoalNeed, state: int) -> None:
    """Let paths begin in one state."""
    for s in range(len(need.begin)):
        need.begin[s] = 1.0 if s == state else 0.0
    need.is_due[:] = True


@inlined
def begin_in_proportion(need: GoalNeed, counts: Floats) -> None:
    """Let paths begin in each state in proportion to a count."""
    total = 0.0
    for s in range(len(counts)):
        total += counts[s]
    for s in range(len(counts)):
        need.begin[s] = counts[s] / total
    need.is_due[:] = True


@inlined
def count_goal_need(need: GoalNeed, n_goals: int, discount: float) -> None:
    """Compute the need of all states for the goals known, where it may have changed.

    Rows of ``need.visits`` are written.
    """
    for goal in range(n_goals):
        if need.is_due[goal]:
            need.is_due[goal] = False
            solve_visits_from(
                _elimination(need, goal),
                _chain(need, goal),
                need.begin,
                discount,
                need.visits[goal],
            )
