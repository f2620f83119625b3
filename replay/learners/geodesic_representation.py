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
to be gained in a world that is known. Where only one action of each state was ever tried, as on a
track that is run one way, no policy can change, so nothing is gained and nothing replayed, unless
the other actions are known beforehand (``pre_explored``).

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

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Choice, Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, ONLINE, REST, START, BackupBuffer, record
from replay.parts.goal_need import (
    GoalNeed,
    begin_at,
    begin_in_proportion,
    count_goal_need,
    gain_on_the_way,
    goal_need,
    mark_changed,
    note_move,
    set_policy,
)
from replay.parts.goals import Goals, goals_of, new_goal, note_visit
from replay.parts.known_world import known_world, likeliest_outcomes
from replay.parts.numbering import forget_all, meet
from replay.parts.pauses import Earnings, earnings, earnings_words, goes_on, note_experience
from replay.parts.policies import Policy, best_value
from replay.parts.priorities import IN_PAUSES, is_due, phases_of
from replay.parts.world_model import WorldModel, model_words, world_model
from replay.worlds.mdp import MDP

__all__ = ["Memory", "Params", "add_goal", "description", "evaluates", "explore", "forget", "init"]
__all__ += ["learn", "most_backups", "n_words", "replay"]

CANDIDATES = ("rewarded", "entered")
"""What may become a goal: places where a reward was met, or all that were entered."""
REWARDED, ENTERED = range(2)
POLICIES = ("softmax", "greedy")
"""The policy towards a goal, for which gain and need are counted."""
_NEAR = 1e-6  # as in the authors' code: an action as good as the best one is a best one
_TIE = 1e-9  # of the highest priority; what is equal by reckoning is seldom so to the last bit


class Params(NamedTuple):
    """Parameters of gain x need over possible future goals.

    Attributes
    ----------
    discount : float
        gamma: discount factor per step; below 1.
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
        Duration of a backup, in steps: a pause ends when the next backup is expected to gain no
        more than so many steps earn on average; see :mod:`replay.parts.pauses`. 0: no time.
    mean_backups : float
        Mean number of backups after which a pause ends at random; infinite: it does not.
    pre_explored : bool
        Whether the moves of the world, and where episodes start, are known before the first step.
    """

    discount: ranges.DiscountBelowOne = 0.95
    epsilon: ranges.Share = 0.1
    policy: Annotated[int, Choice(POLICIES)] = 0
    inverse_temperature: ranges.InverseTemperature = 5.0
    learning_rate: ranges.Share = 1.0
    replay_rate: ranges.Share = 0.7
    goal_rate: ranges.Share = 0.05
    reward_rate: ranges.Share = 1.0
    forgetting: ranges.Share = 0.06
    candidates: Annotated[int, Choice(CANDIDATES)] = REWARDED
    n_goals: ranges.PositiveCount = 8
    replay_at: ranges.Moment = IN_PAUSES
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    pre_explored: bool = False


class Memory(NamedTuple):
    """What is kept. Goals, moves and G last; the rest is derived, or is room.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    geodesic : ndarray of float64, shape (n_goals, n_states, n_actions)
        G.
    goals : Goals
        The goals, their w and v.
    model : WorldModel
        The moves seen.
    starts : ndarray of float64, shape (n_states,)
        How often episodes started in each state.
    need : GoalNeed
        The policy that leads to each goal, and how often it will visit each state.
    gain : ndarray of float64, shape (n_goals, n_states, n_actions)
        What backing up each pair gains.
    priority : ndarray of float64, shape (n_states, n_actions)
        The expected value of backing up each pair.
    ties : ndarray of int64, shape (n_states * n_actions,)
        The pairs of the highest one, as state * n_actions + action.
    path : ndarray of int32, shape (2, max_backups)
        States and actions of the moves replayed last, as far as each led to the next; behind them
        the one that may be replayed now.
    before : ndarray of float64, shape (max_backups,)
        What G of these moves was, the last one first.
    earnings : Earnings
        Rewards and changes of values so far, on which the end of a pause depends.
    """

    action_values: NDArray[np.float64]
    geodesic: NDArray[np.float64]
    goals: Goals
    model: WorldModel
    starts: NDArray[np.float64]
    need: GoalNeed
    gain: NDArray[np.float64]
    priority: NDArray[np.float64]
    ties: NDArray[np.int64]
    path: NDArray[np.int32]
    before: NDArray[np.float64]
    earnings: Earnings


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    stores = "the way to each goal; the last try of each pair"
    phases = tuple(sorted(phases_of(params.replay_at)))
    return Description(stores, phases, "gain x need, over goals", "Sagiv et al. 2025")


def evaluates(params: Params) -> bool:
    """Tell that gain and need of each backup are logged, averaged over goals."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    n_goals, longest = min(params.n_goals, sizes.n_states), max(params.max_backups, 1)
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        np.zeros(shape),
        np.zeros((n_goals, *shape)),
        goals_of(n_goals, sizes.n_states),
        world_model(*shape, sizes.n_transitions),
        np.zeros(sizes.n_states),
        goal_need(n_goals, *shape, sizes.n_transitions),
        np.zeros((n_goals, *shape)),
        np.zeros(shape),
        np.zeros(sizes.n_states * sizes.n_actions, dtype=np.int64),
        np.zeros((2, longest), dtype=np.int32),
        np.zeros(longest),
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


# -- the way to each goal ------------------------------------------------------------------


def add_goal(memory: Memory, s: int) -> None:
    """Make a place a goal, to which no way is known yet.

    Parameters
    ----------
    memory : Memory
        If there is no room for one more goal, the least likely one gives way.
    s : int
        The place; no goal yet.
    """
    g, n_states = new_goal(memory.goals, s), len(memory.starts)
    memory.geodesic[g] = 0.0
    for u in range(n_states):
        meet(memory.need.stale, g * n_states + u)


def _target(params: Params, memory: Memory, g: int, s_next: int) -> float:
    if s_next == memory.goals.place[g]:
        return 1.0
    return params.discount * best_value(memory.geodesic[g], s_next)


def _set_action_value(memory: Memory, s: int, a: int) -> None:
    """Let Q of a pair be what the best goal is worth from there."""
    goals, best = memory.goals, 0.0
    for g in range(goals.n[0]):
        best = max(best, goals.reward[g] * memory.geodesic[g, s, a])
    memory.action_values[s, a] = best


def _note_outcome(params: Params, memory: Memory, s: int, reward: float) -> None:
    """Learn what it was to enter a state: whether it is a goal, and which goals are likely."""
    goals = memory.goals
    if goals.number[s] < 0:
        if reward <= 0.0 and params.candidates == REWARDED:
            return
        add_goal(memory, s)
    g = goals.number[s]
    note_visit(goals, g, reward > 0.0, params.goal_rate)
    change = params.reward_rate * (reward - goals.reward[g])
    if change != 0.0:
        goals.reward[g] += change
        for u in range(len(memory.starts)):
            for a in range(memory.priority.shape[1]):
                _set_action_value(memory, u, a)


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Pre-explored, remember each move of the world and where episodes start."""
    if params.pre_explored:
        mdp = known_world("pre_explored", mdp, memory.priority.shape[1])
        memory.starts[:] = mdp.start_probability
        next_state = likeliest_outcomes(mdp)
        for s, a in np.argwhere(next_state >= 0):
            s_next = next_state[s, a]
            note_move(memory.need, memory.model, memory.goals.n[0], s, a, s_next)
            if params.candidates == ENTERED and memory.goals.number[s_next] < 0:
                add_goal(memory, s_next)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the move, and learn from it the way to each goal."""
    Q, G = memory.action_values, memory.geodesic
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    note_experience(params, memory.earnings, Q, transition)
    if memory.model.n_edges[0] == 0:
        memory.starts[s] = 1.0
    before = Q[s, a]
    note_move(memory.need, memory.model, memory.goals.n[0], s, a, s_next)
    _note_outcome(params, memory, s_next, r)
    for g in range(memory.goals.n[0]):
        change = params.learning_rate * (_target(params, memory, g, s_next) - G[g, s, a])
        if change != 0.0:
            G[g, s, a] += change
            mark_changed(memory.need, memory.model, g, s)
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
    G, Q = memory.geodesic, memory.action_values
    G *= kept
    Q *= kept
    for place in range(memory.goals.n[0] * len(memory.starts)):
        meet(memory.need.stale, place)


# -- what a backup is worth ----------------------------------------------------------------


def _n_led(memory: Memory, g: int, s: int, length: int) -> int:
    """Count the moves that led to s, back to the first one that was no best one towards g."""
    goal, G, path = memory.goals.place[g], memory.geodesic[g], memory.path
    n = 0
    while s != goal and n < length:
        u, b = path[0, length - 1 - n], path[1, length - 1 - n]
        if u == goal or G[u, b] < best_value(G, u) - _NEAR:
            break
        n += 1
    return n


def _change_values(params: Params, memory: Memory, g: int, length: int, n: int) -> bool:
    """Back up the move behind a path, and pass its error to the n before; tell if it reaches them.

    It does if the move is a best one towards the goal.
    """
    G, model, path = memory.geodesic[g], memory.model, memory.path
    s, a = path[0, length], path[1, length]
    s_next = model.edges[memory.need.latest[s, a]]["next_state"]
    change = params.replay_rate * (_target(params, memory, g, s_next) - G[s, a])
    reaches: bool = change != 0.0 and G[s, a] >= best_value(G, s) - _NEAR
    for i in range(n + 1):
        u, b = path[0, length - i], path[1, length - i]
        memory.before[i] = G[u, b]
        G[u, b] += change
        change = params.discount * change if reaches else 0.0
    return reaches


def _evaluate(params: Params, memory: Memory, g: int, s: int, a: int, length: int, n: int) -> float:
    """Return what a backup that passes its error to n moves gains on the way to a goal."""
    if s == memory.goals.place[g]:
        return 0.0
    G, path = memory.geodesic[g], memory.path
    path[0, length], path[1, length] = s, a
    policy = Policy(params.policy, params.inverse_temperature, 0.0)
    _change_values(params, memory, g, length, n)
    gain = gain_on_the_way(memory.need, policy, g, s, G)
    for i in range(n, 0, -1):
        gain += gain_on_the_way(memory.need, policy, g, path[0, length - i], G)
    for i in range(n, -1, -1):
        G[path[0, length - i], path[1, length - i]] = memory.before[i]
    return gain


def _refresh(params: Params, memory: Memory, length: int) -> None:
    """Compute the policies and gains that are stale, and the needs that follow from them."""
    stale, n_states = memory.need.stale, len(memory.starts)
    policy = Policy(params.policy, params.inverse_temperature, 0.0)
    for i in range(stale.n[0]):
        g, s = stale.met[i] // n_states, stale.met[i] % n_states
        is_goal = s == memory.goals.place[g]
        set_policy(memory.need, policy, g, s, memory.geodesic[g], not is_goal)
        for a in range(memory.priority.shape[1]):
            if memory.need.latest[s, a] >= 0:
                memory.gain[g, s, a] = _evaluate(params, memory, g, s, a, length, 0)
    forget_all(stale)
    count_goal_need(memory.need, memory.goals.n[0], params.discount)


def _weigh(params: Params, memory: Memory, end: int, length: int) -> None:
    """Weigh gains by need and goals; moves from where the last one led pass their error back."""
    goals, need, priority = memory.goals, memory.need, memory.priority
    priority[:] = 0.0
    for g in range(goals.n[0]):
        for s in range(len(priority)):
            weight = goals.likely[g] * need.visits[g, s]
            if weight > 0.0:
                for a in range(priority.shape[1]):
                    gain = memory.gain[g, s, a]
                    if s == end and need.latest[s, a] >= 0:
                        n = _n_led(memory, g, s, length)
                        gain = _evaluate(params, memory, g, s, a, length, n)
                    priority[s, a] += weight * gain


def _draw_best(memory: Memory, rng: Generator) -> tuple[int, int]:
    """Draw one of the pairs of the highest priority."""
    priority, n_actions, n = memory.priority.reshape(-1), memory.priority.shape[1], 0
    best = priority[priority.argmax()]
    least = best - _TIE * abs(best)
    for pair in range(len(priority)):
        if priority[pair] >= least:
            memory.ties[n] = pair
            n += 1
    pair = memory.ties[int(rng.random() * n)]
    return pair // n_actions, pair % n_actions


# -- replay --------------------------------------------------------------------------------


def _back_up(params: Params, memory: Memory, length: int) -> int:
    """Move G of the move behind a path, for all goals; return how many before it are told."""
    path, furthest = memory.path, 0
    for g in range(memory.goals.n[0]):
        n = _n_led(memory, g, path[0, length], length)
        if _change_values(params, memory, g, length, n):
            furthest = max(furthest, n)
        for i in range(n + 1):
            if memory.geodesic[g, path[0, length - i], path[1, length - i]] != memory.before[i]:
                mark_changed(memory.need, memory.model, g, path[0, length - i])
    return furthest


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Back up the move that is worth most over goals, again and again, until none is worth it."""
    Q, goals, path = memory.action_values, memory.goals, memory.path
    if pause.phase == START:
        memory.starts[pause.state] += 1.0
    if goals.n[0] == 0 or not is_due(params.replay_at, pause.phase):
        return
    if pause.phase == EPISODE_END or pause.phase == REST:
        begin_in_proportion(memory.need, memory.starts)
    else:
        begin_at(memory.need, pause.state)
    length, end, last, row = 0, -1, -1, -1
    for pop in range(params.max_backups):
        _refresh(params, memory, length)
        _weigh(params, memory, end, length)
        s, a = _draw_best(memory, rng)
        worth = memory.priority[s, a]
        if worth <= params.min_priority or not goes_on(params, memory.earnings, worth, rng):
            break
        length = length if s == end else 0
        path[0, length], path[1, length] = s, a
        s_next, need = memory.model.edges[memory.need.latest[s, a]]["next_state"], 0.0
        for g in range(goals.n[0]):
            need += goals.likely[g] * memory.need.visits[g, s]
        furthest = _back_up(params, memory, length)
        row = row if furthest == 0 and (s == end or s_next == last) else -1
        for i in range(furthest, -1, -1):
            u, b = path[0, length - i], path[1, length - i]
            u_next = path[0, length - i + 1] if i > 0 else s_next
            before = Q[u, b]
            _set_action_value(memory, u, b)
            row = record(
                log, pause.phase, u, b, u_next, before, Q[u, b], np.nan, worth, pop, row,
                worth / need, need,
            )  # fmt: skip
        length, end, last = length + 1, s_next, s
