"""Gain x need over possible future goals: replay that plans, and replay that builds a map, in one.

What is learned is the geodesic representation G: for each goal g, how far it is from each pair of
state and action, discounted,

    G(s, a, g) += alpha (target - G(s, a, g)),  target = 1 if s' = g, else gamma max G(s', ., g).

One remembered move (s, a, s') teaches the way to all goals at once, so what it is worth to replay
it is its gain times its need [1]_, averaged over the goals by how likely each will be the next one,

    EVB(s, a) = sum over g of w(g) need_g(s) gain_g(s, a).

need_g counts visits on the way to g by the policy that leads there, from where the agent is; at an
episode's end and at rest, from where episodes have started so far. gain_g is what that policy earns
more in s for the new G. A replayed move from where the last one led also passes its error back
along the moves replayed before, as far as each was a best one towards g; their gains count too.
w(g) moves towards 1 when g pays, and when it does not, towards an equal share of the other goals.
If goals change seldom, w is that of the current goal, and replay plans; if often, all are mapped.

The agent takes the way that is worth most, Q(s, a) = max over g of v(g) G(s, a, g), where v(g) is
the reward met in g of late. All values of G fade when an episode ends: without that nothing is left
to be gained in a world that is known.

The equations are those of the authors' code, of which a copy was run; of the paper the abstract
and the beginning were read. That code lets a separate module choose between given goals, and draws
one by a softmax; here goals are found, and chosen by Q. Its replay makes a given number of backups,
here one that gains nothing ends it. All moves that an error reaches are rows of one backup, in the
order in which they were replayed.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Sagiv et al. (2025), Between planning and map-building: prioritizing replay
   when future goals are uncertain. https://pmc.ncbi.nlm.nih.gov/articles/PMC12633763
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners.contract import (
    Between,
    Choice,
    Cost,
    Count,
    Description,
    Known,
    Mean,
    Pause,
    PositiveCount,
    Share,
    Sizes,
    Threshold,
    Transition,
)
from replay.log.backups import EPISODE_END, ONLINE, REST, START, Log, record
from replay.parts.goal_need import (
    GoalNeed,
    count_goal_need,
    goal_need,
    link_places,
    set_chance,
)
from replay.parts.known_world import known_world, likeliest_outcomes
from replay.parts.pauses import Earnings, earnings, earnings_words, goes_on, note_experience
from replay.parts.policies import best_value
from replay.parts.priorities import IN_PAUSES, MOMENTS, is_due, phases_of
from replay.parts.world_model import WorldModel, edge_to, model_words, observe, world_model
from replay.worlds.mdp import MDP

__all__ = ["Goals", "Memory", "Params", "add_goal", "description", "evaluates", "explore"]
__all__ += ["forget", "init", "learn", "most_backups", "n_words", "replay"]

CANDIDATES = ("rewarded", "entered")
"""What may become a goal: places where a reward was met, or all that were entered."""
REWARDED, ENTERED = range(2)
POLICIES = ("softmax", "greedy")
"""The policy towards a goal, for which gain and need are counted."""
SOFTMAX, GREEDY = range(2)
_NEAR = 1e-6  # as in the authors' code: an action as good as the best one is a best one
_TIE = 1e-9  # of the highest priority; what is equal by reckoning is seldom so to the last bit


class Params(NamedTuple):
    """Parameters of gain x need over possible future goals.

    Attributes
    ----------
    discount : float
        gamma: weight of the future, a step; below 1.
    epsilon : float
        Probability of a uniformly random action.
    policy : {"softmax", "greedy"}
        The policy towards a goal, for which gain and need are counted.
    inverse_temperature : float
        beta: of that softmax.
    learning_rate : float
        alpha, online: share of the way to its target that G moves.
    replay_rate : float
        alpha in replay.
    goal_rate : float
        Share of the way to the latest outcome that w, how likely each goal is, moves.
    reward_rate : float
        Share of the way to the latest reward that v of the goal moves.
    forgetting : float
        Share of G that is lost when an episode ends.
    candidates : {"rewarded", "entered"}
        What may become a goal: places where a reward was met, or all that were entered.
    n_goals : int
        The most goals that are kept; then a new one takes the place of the least likely.
    replay_at : {"pauses", "start_and_end", "step", "episode_end", "rest"}
        When there is replay, as :data:`replay.parts.priorities.MOMENTS` says.
    max_backups : int
        Backups at most at each pause.
    min_priority : float
        A backup of no more expected value than this is not made, and ends the pause.
    backup_cost : float
        A pause ends where the next backup is not expected to gain more than so many steps earn on
        average; see :mod:`replay.parts.pauses`. 0: time costs nothing.
    mean_backups : float
        Backups on average after which a pause ends at random. Infinite: it does not.
    pre_explored : bool
        Whether the moves of the world, and where episodes start, are known before the first step.
    """

    discount: Share = 0.95
    epsilon: Share = 0.1
    policy: Annotated[int, Choice(POLICIES)] = SOFTMAX
    inverse_temperature: Annotated[float, Between(1e-6, 700.0)] = 5.0
    learning_rate: Share = 1.0
    replay_rate: Share = 0.7
    goal_rate: Share = 0.05
    reward_rate: Share = 1.0
    forgetting: Share = 0.06
    candidates: Annotated[int, Choice(CANDIDATES)] = REWARDED
    n_goals: PositiveCount = 8
    replay_at: Annotated[int, Choice(MOMENTS)] = IN_PAUSES
    max_backups: Count = 20
    min_priority: Threshold = 0.0
    backup_cost: Cost = 0.0
    mean_backups: Mean = np.inf
    pre_explored: bool = False


class Goals(NamedTuple):
    """The goals that are known.

    Attributes
    ----------
    n : ndarray of int64, shape (1,)
        How many there are.
    place : ndarray of int32, shape (n_goals,)
        Where each is.
    number : ndarray of int32, shape (n_states,)
        Which goal a state is; -1 if none.
    likely : ndarray of float64, shape (n_goals,)
        w, how likely each is the next goal; the sum is 1.
    reward : ndarray of float64, shape (n_goals,)
        v, what it paid of late.
    """

    n: NDArray[np.int64]
    place: NDArray[np.int32]
    number: NDArray[np.int32]
    likely: NDArray[np.float64]
    reward: NDArray[np.float64]


class Memory(NamedTuple):
    """What is kept. Goals, moves and G last; the rest is derived, or is room.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    geodesic : ndarray of float64, shape (n_goals, n_states, n_actions)
        G.
    goals : Goals
        The goals.
    model : WorldModel
        The moves seen.
    latest : ndarray of int32, shape (n_states, n_actions)
        The edge of the model that each pair took last; -1 if it was never tried.
    starts : ndarray of float64, shape (n_states,)
        How often episodes started in each state.
    policy : ndarray of float64, shape (n_goals, n_states, n_actions)
        How likely each action is, on the way to each goal.
    gain : ndarray of float64, shape (n_goals, n_states, n_actions)
        What backing up each pair gains.
    is_stale : ndarray of bool, shape (n_goals, n_states)
        Where policy and gain have to be computed anew.
    stale : ndarray of int32, shape (n_goals, n_states)
        The states of which this is so; the first ``n_stale`` of each goal.
    n_stale : ndarray of int64, shape (n_goals,)
        How many they are.
    need : GoalNeed
        How often each state will be visited on the way to each goal.
    begin : ndarray of float64, shape (n_states,)
        From where need is counted.
    priority : ndarray of float64, shape (n_states, n_actions)
        The expected value of backing up each pair.
    path : ndarray of int32, shape (2, max_backups)
        States and actions of the moves replayed last, as far as each led to the next.
    before : ndarray of float64, shape (max_backups + 1,)
        Room for values that are changed for a moment.
    earnings : Earnings
        What steps earned, and surprised.
    """

    action_values: NDArray[np.float64]
    geodesic: NDArray[np.float64]
    goals: Goals
    model: WorldModel
    latest: NDArray[np.int32]
    starts: NDArray[np.float64]
    policy: NDArray[np.float64]
    gain: NDArray[np.float64]
    is_stale: NDArray[np.bool_]
    stale: NDArray[np.int32]
    n_stale: NDArray[np.int64]
    need: GoalNeed
    begin: NDArray[np.float64]
    priority: NDArray[np.float64]
    path: NDArray[np.int32]
    before: NDArray[np.float64]
    earnings: Earnings


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    stores = "the way to each goal; the last try of each pair"
    phases = tuple(sorted(phases_of(params.replay_at)))
    return Description(stores, phases, "gain x need, over goals", "Sagiv et al. 2025")


def evaluates(params: Params) -> bool:
    """Tell that gain and need of each backup are logged, averaged over goals."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Make the memory of a learner that has experienced nothing."""
    if params.discount == 1.0:
        raise ValueError(
            "Distances are discounted, and need has no end without that, so discount must be below "
            "1, got 1; 0.999 looks a thousand steps ahead."
        )
    n_states, n_actions = sizes.n_states, sizes.n_actions
    n_goals = min(params.n_goals, n_states)
    goals = Goals(
        np.zeros(1, dtype=np.int64),
        np.full(n_goals, -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.zeros(n_goals),
        np.zeros(n_goals),
    )
    shape = (n_goals, n_states, n_actions)
    return Memory(
        np.zeros((n_states, n_actions)),
        np.zeros(shape),
        goals,
        world_model(n_states, n_actions, sizes.n_transitions),
        np.full((n_states, n_actions), -1, dtype=np.int32),
        np.zeros(n_states),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros((n_goals, n_states), dtype=np.bool_),
        np.zeros((n_goals, n_states), dtype=np.int32),
        np.zeros(n_goals, dtype=np.int64),
        goal_need(n_goals, n_states, sizes.n_transitions),
        np.zeros(n_states),
        np.zeros((n_states, n_actions)),
        np.zeros((2, max(params.max_backups, 1)), dtype=np.int32),
        np.zeros(params.max_backups + 1),
        earnings(),
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Bound the backups of the next step: at its two pauses, each path at most a move longer."""
    return 1 + params.max_backups * (params.max_backups + 1)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held from one pause to the next.

    They are the latest outcome of each pair, G and gain of each goal and pair, place, w and v of
    each goal, starts, and the model; Q, policies and need follow from these.
    """
    n = int(memory.goals.n[0])
    held = model_words(memory.model) + int(np.count_nonzero(memory.starts))
    return (1 + 2 * n) * known.pairs + 3 * n + held + earnings_words(params)


# -- goals --------------------------------------------------------------------------------


def add_goal(memory: Memory, s: int) -> None:
    """Make a place a goal, which is then as likely as goals are on average.

    Parameters
    ----------
    memory : Memory
        If there is no room for one more, the least likely goal gives way.
    s : int
        The place; no goal yet.
    """
    goals = memory.goals
    g = goals.n[0]
    if g < len(goals.place):
        goals.n[0] += 1
    else:
        g = int(goals.likely.argmin())
        goals.number[goals.place[g]] = -1
        _share(goals, g, 0.0, 1.0)
    goals.place[g], goals.number[s] = s, g
    goals.likely[g], goals.reward[g] = 0.0, 0.0
    _share(goals, g, 1.0, 1.0 / goals.n[0])
    memory.geodesic[g] = 0.0
    for u in range(len(goals.number)):
        _mark_stale(memory, g, u)


def _share(goals: Goals, g: int, target: float, rate: float) -> None:
    """Let w of a goal move towards a target, and that of the others to equal shares of the rest."""
    n = goals.n[0]
    for j in range(n):
        aim = target if j == g else (1.0 - target) / max(n - 1, 1)
        goals.likely[j] += rate * (aim - goals.likely[j])


def _note_outcome(params: Params, memory: Memory, s: int, reward: float) -> None:
    """Learn what it was to enter a state: whether it is a goal, and which goals are likely."""
    goals = memory.goals
    if goals.number[s] < 0:
        if reward <= 0.0 and params.candidates == REWARDED:
            return
        add_goal(memory, s)
    g = goals.number[s]
    if reward > 0.0 or goals.n[0] > 1:
        _share(goals, g, 1.0 if reward > 0.0 else 0.0, params.goal_rate)
    change = params.reward_rate * (reward - goals.reward[g])
    if change != 0.0:
        goals.reward[g] += change
        for u in range(len(memory.starts)):
            for a in range(memory.latest.shape[1]):
                _set_action_value(memory, u, a)


def _set_action_value(memory: Memory, s: int, a: int) -> None:
    """Let Q of a pair be what the best goal is worth from there."""
    goals, best = memory.goals, 0.0
    for g in range(goals.n[0]):
        best = max(best, goals.reward[g] * memory.geodesic[g, s, a])
    memory.action_values[s, a] = best


# -- the way to a goal --------------------------------------------------------------------


def _target(params: Params, memory: Memory, g: int, s_next: int) -> float:
    if s_next == memory.goals.place[g]:
        return 1.0
    return params.discount * best_value(memory.geodesic[g], s_next)


def _set_value(memory: Memory, g: int, s: int, a: int, value: float) -> None:
    """Change G, and mark the states whose policy or gains this changes."""
    G, model = memory.geodesic[g], memory.model
    if value == G[s, a]:
        return
    before = best_value(G, s)
    G[s, a] = value
    _mark_stale(memory, g, s)
    if best_value(G, s) != before:
        edge = model.first_in[s]
        while edge >= 0:
            _mark_stale(memory, g, model.edges[edge]["state"])
            edge = model.edges[edge]["next_in"]


def _mark_stale(memory: Memory, g: int, s: int) -> None:
    if not memory.is_stale[g, s]:
        memory.is_stale[g, s] = True
        memory.stale[g, memory.n_stale[g]] = s
        memory.n_stale[g] += 1


def _observe(memory: Memory, s: int, a: int, s_next: int) -> None:
    """Remember a move, also where an episode ends: the map goes on from there."""
    model, latest = memory.model, memory.latest
    n_known = model.n_edges[0]
    observe(model, s, a, s_next, False)
    edge = edge_to(model, s, a, s_next)
    if model.n_edges[0] > n_known:
        link_places(memory.need, s, s_next)
    elif latest[s, a] == edge:
        return
    for g in range(memory.goals.n[0]):
        if latest[s, a] >= 0:
            set_chance(memory.need, g, latest[s, a], s, 0.0)
        _mark_stale(memory, g, s)
    latest[s, a] = edge


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Pre-explored, remember each move of the world and where episodes start."""
    if params.pre_explored:
        mdp = known_world("pre_explored", mdp, memory.latest.shape[1])
        memory.starts[:] = mdp.start_probability
        next_state = likeliest_outcomes(mdp)
        for s, a in np.argwhere(next_state >= 0):
            _observe(memory, s, a, next_state[s, a])
            if params.candidates == ENTERED and memory.goals.number[next_state[s, a]] < 0:
                add_goal(memory, next_state[s, a])


def learn(params: Params, memory: Memory, transition: Transition, log: Log) -> None:
    """Remember the move, and learn from it the way to each goal."""
    Q, G, goals = memory.action_values, memory.geodesic, memory.goals
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    note_experience(params, memory.earnings, Q, transition)
    if memory.model.n_edges[0] == 0:
        memory.starts[s] = 1.0
    before = Q[s, a]
    _observe(memory, s, a, s_next)
    _note_outcome(params, memory, s_next, r)
    for g in range(goals.n[0]):
        change = params.learning_rate * (_target(params, memory, g, s_next) - G[g, s, a])
        _set_value(memory, g, s, a, G[g, s, a] + change)
    _set_action_value(memory, s, a)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    if (transition.terminated or transition.truncated) and params.forgetting > 0.0:
        forget(memory, 1.0 - params.forgetting)


def forget(memory: Memory, kept: float) -> None:
    """Let all values fade, and with them what follows from them.

    Parameters
    ----------
    memory : Memory
        Its goals stay as likely as they are.
    kept : float
        The share that is kept.
    """
    for s in range(len(memory.starts)):
        for g in range(memory.goals.n[0]):
            _mark_stale(memory, g, s)
            for a in range(memory.latest.shape[1]):
                memory.geodesic[g, s, a] *= kept
        for a in range(memory.latest.shape[1]):
            memory.action_values[s, a] *= kept


# -- gain and need ------------------------------------------------------------------------


def _set_policy(params: Params, memory: Memory, g: int, s: int) -> bool:
    """Compute the policy of a state towards a goal; return whether it goes elsewhere now.

    Only moves that are known count. In the goal the way ends.
    """
    policy, values, latest = memory.policy[g, s], memory.geodesic[g, s], memory.latest[s]
    best, total = -np.inf, 0.0
    for a in range(len(values)):
        if latest[a] >= 0:
            best = max(best, values[a])
    for a in range(len(values)):
        policy[a] = 0.0
        if latest[a] >= 0:
            if params.policy == GREEDY:
                policy[a] = 1.0 if values[a] == best else 0.0
            else:
                policy[a] = math.exp(params.inverse_temperature * (values[a] - best))
            total += policy[a]
    goes_on, is_new = s != memory.goals.place[g], False
    for a in range(len(values)):
        if latest[a] >= 0:
            policy[a] /= total
            chance = policy[a] if goes_on else 0.0
            is_new = set_chance(memory.need, g, latest[a], s, chance) or is_new
    return is_new


def _gain_at(params: Params, memory: Memory, g: int, s: int) -> float:
    """Return what the policy of G as it is now earns more in a state than that of before."""
    policy, values, latest = memory.policy[g, s], memory.geodesic[g, s], memory.latest[s]
    best, total, mean, earned = -np.inf, 0.0, 0.0, 0.0
    for a in range(len(values)):
        if latest[a] >= 0:
            best = max(best, values[a])
            earned += policy[a] * values[a]
    if params.policy == GREEDY:
        return best - earned
    for a in range(len(values)):
        if latest[a] >= 0:
            weight = math.exp(params.inverse_temperature * (values[a] - best))
            total += weight
            mean += weight * values[a]
    return mean / total - earned


def _change(params: Params, memory: Memory, g: int, s: int, a: int) -> float:
    """Return by how much a backup in replay changes G of its pair."""
    s_next = memory.model.edges[memory.latest[s, a]]["next_state"]
    distance: float = _target(params, memory, g, s_next) - memory.geodesic[g, s, a]
    return params.replay_rate * distance


def _n_passed(memory: Memory, g: int, s: int, length: int) -> int:
    """Return how many of the moves that led to s were, the last ones first, best ones towards g."""
    goal, G, path = memory.goals.place[g], memory.geodesic[g], memory.path
    n = 0
    while s != goal and n < length:
        u, b = path[0, length - 1 - n], path[1, length - 1 - n]
        if u == goal or G[u, b] < best_value(G, u) - _NEAR:
            break
        n += 1
    return n


def _evaluate(params: Params, memory: Memory, g: int, s: int, a: int, length: int) -> float:
    """Return what backing up (s, a), and passing the error back, gains on the way to a goal."""
    if s == memory.goals.place[g]:
        return 0.0
    G, path, before = memory.geodesic[g], memory.path, memory.before
    n, change = _n_passed(memory, g, s, length), _change(params, memory, g, s, a)
    is_best = G[s, a] >= best_value(G, s) - _NEAR
    before[n] = G[s, a]
    G[s, a] += change
    for i in range(n):
        u, b = path[0, length - 1 - i], path[1, length - 1 - i]
        before[i] = G[u, b]
        change *= params.discount
        G[u, b] += change if is_best else 0.0
    gain = _gain_at(params, memory, g, s)
    for i in range(n - 1, -1, -1):
        gain += _gain_at(params, memory, g, path[0, length - 1 - i])
    for i in range(n - 1, -1, -1):
        G[path[0, length - 1 - i], path[1, length - 1 - i]] = before[i]
    G[s, a] = before[n]
    return gain


def _refresh(params: Params, memory: Memory, is_begin: bool) -> None:
    """Compute the policies and gains that are stale, and the needs that follow from them."""
    for g in range(memory.goals.n[0]):
        moves = is_begin
        for i in range(memory.n_stale[g]):
            s = memory.stale[g, i]
            memory.is_stale[g, s] = False
            moves = _set_policy(params, memory, g, s) or moves
            for a in range(memory.latest.shape[1]):
                if memory.latest[s, a] >= 0:
                    memory.gain[g, s, a] = _evaluate(params, memory, g, s, a, 0)
        memory.n_stale[g] = 0
        if moves:
            count_goal_need(memory.need, g, memory.begin, params.discount)


def _weigh(params: Params, memory: Memory, end: int, length: int) -> None:
    """Weigh gains by need and goals; moves from where the last one led pass their error back."""
    goals, visits, gain, priority = memory.goals, memory.need.visits, memory.gain, memory.priority
    priority[:] = 0.0
    for g in range(goals.n[0]):
        for s in range(len(priority)):
            weight = goals.likely[g] * visits[g, s]
            if weight > 0.0:
                for a in range(priority.shape[1]):
                    if s == end and memory.latest[s, a] >= 0:
                        priority[s, a] += weight * _evaluate(params, memory, g, s, a, length)
                    else:
                        priority[s, a] += weight * gain[g, s, a]


def _draw_best(priority: NDArray[np.float64], rng: Generator) -> tuple[int, int]:
    """Draw one of the pairs of the highest priority."""
    least, n = -np.inf, 0
    for s in range(priority.shape[0]):
        least = max(least, best_value(priority, s))
    least -= _TIE * abs(least)
    for s in range(priority.shape[0]):
        for a in range(priority.shape[1]):
            n += priority[s, a] >= least
    left = int(rng.random() * n)
    for s in range(priority.shape[0]):
        for a in range(priority.shape[1]):
            if priority[s, a] >= least:
                if left == 0:
                    return s, a
                left -= 1
    return -1, -1


def _back_up(params: Params, memory: Memory, s: int, a: int, length: int) -> int:
    """Move G of a pair, for all goals; return how many of the moves before it the error reaches."""
    G, path, furthest = memory.geodesic, memory.path, 0
    for g in range(memory.goals.n[0]):
        change, n = _change(params, memory, g, s, a), _n_passed(memory, g, s, length)
        is_best = G[g, s, a] >= best_value(G[g], s) - _NEAR
        _set_value(memory, g, s, a, G[g, s, a] + change)
        if change != 0.0 and is_best:
            furthest = max(furthest, n)
            for i in range(n):
                u, b = path[0, length - 1 - i], path[1, length - 1 - i]
                change *= params.discount
                _set_value(memory, g, u, b, G[g, u, b] + change)
    return furthest


def _set_begin(memory: Memory, pause: Pause) -> None:
    """Count need from where episodes start, or, in an episode, from where the agent is."""
    starts, begin, total = memory.starts, memory.begin, 0.0
    for s in range(len(starts)):
        total += starts[s]
        begin[s] = 0.0
    if pause.phase == EPISODE_END or pause.phase == REST:
        for s in range(len(starts)):
            begin[s] = starts[s] / total
    else:
        begin[pause.state] = 1.0


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: Log) -> None:
    """Back up the move that is worth most over goals, again and again, until none is worth it."""
    Q, path = memory.action_values, memory.path
    if pause.phase == START:
        memory.starts[pause.state] += 1.0
    if memory.goals.n[0] == 0 or not is_due(params.replay_at, pause.phase):
        return
    _set_begin(memory, pause)
    length, end, last, row = 0, -1, -1, -1
    for pop in range(params.max_backups):
        _refresh(params, memory, pop == 0)
        _weigh(params, memory, end, length)
        s, a = _draw_best(memory.priority, rng)
        worth = memory.priority[s, a]
        if worth <= params.min_priority or not goes_on(params, memory.earnings, worth, rng):
            break
        length = length if s == end else 0
        s_next, need = memory.model.edges[memory.latest[s, a]]["next_state"], 0.0
        for g in range(memory.goals.n[0]):
            need += memory.goals.likely[g] * memory.need.visits[g, s]
        furthest, joins = _back_up(params, memory, s, a, length), s == end or s_next == last
        row, gain = row if joins and furthest == 0 else -1, worth / need
        for i in range(furthest, -1, -1):
            u, b, u_next = s, a, s_next
            if i > 0:
                u, b = path[0, length - i], path[1, length - i]
                u_next = path[0, length - i + 1] if i > 1 else s
            before = Q[u, b]
            _set_action_value(memory, u, b)
            row = record(
                log, pause.phase, u, b, u_next, before, Q[u, b], np.nan, worth, pop, row, gain, need
            )
        path[0, length], path[1, length] = s, a
        length, end, last = length + 1, s_next, s
