"""Gain x need over possible future goals: one rule for replay that plans and that builds a map.

What is learned is the geodesic representation G: how near each goal g is, discounted, from each
pair of state and action,

    G(s, a, g) += alpha (target - G(s, a, g)),  target = 1 if s' = g, else gamma max G(s', ., g).

One remembered move (s, a, s') teaches the way to all goals at once, so the value of replaying it is
its gain times its need [1]_, averaged over goals, each weighted by its probability of being the
next goal,

    EVB(s, a) = sum over g of w(g) need_g(s) gain_g(s, a).

need_g counts the visits on the way to g under the policy that leads there, from where the agent is;
at an episode's end and at rest, from where episodes have started so far. gain_g is how much more
that policy earns from s after the update of G. If a replayed move starts where the last one ended,
its error is also passed back along the moves replayed before, as far as each was a best move
towards g; their gains count too. w(g) moves towards 1 when g is rewarded, and otherwise towards an
equal share of the other goals. If goals change rarely, w is that of the current goal, and replay
plans; if they change often, replay maps them all.

The agent follows the most valuable way, Q(s, a) = max over g of v(g) G(s, a, g), where v(g) is the
latest reward at g. All values of G fade when an episode ends: otherwise nothing could be gained in
a known world. Where only one action of each state was ever tried, as on a track that is run in one
direction, no policy can change, so there is no gain and no replay unless the other actions are
known beforehand (``pre_explored``).

The equations are those of the authors' code, a copy of which was run; of the paper, the abstract
and the beginning were read. In that code a separate module chooses between given goals, by a
softmax; here goals are discovered, and chosen by Q. Its replay makes a fixed number of backups;
here replay ends when no backup has a gain. The moves that an error reaches are the rows of one
backup, in the order in which they were replayed.

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

from replay.checks.arrays import Floats, Int32s, Ints
from replay.learners import ranges
from replay.learners.contract import Choice, Description, Known, Pause, Sizes, Transition
from replay.learners.geodesic_representation.goals import (
    GoalNeed,
    Goals,
    begin_at,
    begin_in_proportion,
    count_goal_need,
    gain_on_the_way,
    goal_need,
    goals_of,
    mark_changed,
    new_goal,
    note_move,
    note_visit,
    set_policy,
)
from replay.learners.ranges import known_world, likeliest_outcomes
from replay.log.backups import EPISODE_END, ONLINE, REST, START, BackupBuffer, record
from replay.parts import pauses
from replay.parts.experiences import forget_all, meet
from replay.parts.pauses import Earnings
from replay.parts.policies import Policy, best_value
from replay.parts.world_model import WorldModel, model_words, world_model
from replay.worlds.mdp import MDP

CANDIDATES = ("rewarded", "entered")
"""What may become a goal: places where a reward was met, or all that were entered."""
REWARDED, ENTERED = range(2)
GOAL_POLICIES = ("softmax", "greedy")
"""The policy towards a goal, for which gain and need are computed."""
_NEAR = 1e-6  # as in the authors' code: actions this close to the best one are best too
_TIE = 1e-9  # relative difference below which priorities are tied, in spite of rounding


class Params(NamedTuple):
    """Parameters of gain x need over possible future goals.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    policy : {"softmax", "greedy"}
        The policy towards a goal, for which gain and need are computed.
    inverse_temperature : float
        beta of the softmax.
    learning_rate : float
        alpha, online: fraction of the distance to its target by which G moves.
    replay_rate : float
        alpha in replay.
    goal_rate : float
        Fraction of the distance to the latest outcome by which w moves.
    reward_rate : float
        Fraction of the distance to the latest reward by which v moves.
    forgetting : float
        Fraction of G that is lost when an episode ends.
    candidates : {"rewarded", "entered"}
        What may become a goal: places where a reward was met, or all that were entered.
    n_goals : int
        Largest number of goals; beyond it, a new goal replaces the least likely one.
    max_backups : int
        Largest number of backups per pause.
    min_priority : float
        A pause ends when no backup has a larger expected value than this.
    pre_explored : bool
        Whether the moves of the world, and where episodes start, are known before the first step.
    """

    discount: ranges.DiscountBelowOne = 0.95
    epsilon: ranges.Share = 0.1
    policy: Annotated[int, Choice(GOAL_POLICIES)] = 0
    inverse_temperature: ranges.InverseTemperature = 5.0
    learning_rate: ranges.Share = 1.0
    replay_rate: ranges.Share = 0.7
    goal_rate: ranges.Share = 0.05
    reward_rate: ranges.Share = 1.0
    forgetting: ranges.Share = 0.06
    candidates: Annotated[int, Choice(CANDIDATES)] = REWARDED
    n_goals: ranges.PositiveCount = 8
    replay_at: ranges.Moment = pauses.IN_PAUSES
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    pre_explored: bool = False


class Memory(NamedTuple):
    """The memory: goals, moves and G; the rest is derived from these, or working memory."""

    action_values: Floats  # (n_states, n_actions): Q
    geodesic: Floats  # (n_goals, n_states, n_actions): G
    goals: Goals  # The goals, their w and v
    model: WorldModel  # The moves made so far
    starts: Floats  # (n_states,): number of episodes that started in each state
    need: GoalNeed  # The policy that leads to each goal, and its expected visits to each state
    # (n_goals, n_states, n_actions): the gain of backing up each pair, for each goal
    gain: Floats
    # (n_states, n_actions): the expected value of backing up each pair
    priority: Floats
    # (n_states * n_actions,): the pairs of the highest priority, as state * n_actions +
    # action
    ties: Ints
    # (2, max_backups): states and actions of the moves replayed last, as far as each led to
    # the next; after them the candidate move
    path: Int32s
    # (max_backups,): G of these moves before the backup, the last move first
    before: Floats
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "the way to each goal; the last try of each pair",
        phases=pauses.phases_of(params.replay_at),
        priority="gain x need, over goals",
        source="Sagiv et al. 2025",
        label="Geodesic, future goals",
        evaluates=True,
        goes_forward=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_goals, longest = min(params.n_goals, sizes.n_states), max(params.max_backups, 1)
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        action_values=np.zeros(shape),
        geodesic=np.zeros((n_goals, *shape)),
        goals=goals_of(n_goals, sizes.n_states),
        model=world_model(*shape, sizes.n_transitions),
        starts=np.zeros(sizes.n_states),
        need=goal_need(n_goals, *shape, sizes.n_transitions),
        gain=np.zeros((n_goals, *shape)),
        priority=np.zeros(shape),
        ties=np.zeros(sizes.n_states * sizes.n_actions, dtype=np.int64),
        path=np.zeros((2, longest), dtype=np.int32),
        before=np.zeros(longest),
        earnings=pauses.earnings(),
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step.

    It has two pauses; in each, every path is at most one move longer than the one before.
    """
    return 1 + params.max_backups * (params.max_backups + 1)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held from one pause to the next.

    These are the latest outcome of each pair, G and gain of each goal and pair, place, w and v of
    each goal, starts, and the model. Q, policies and need are derived from them.
    """
    n = int(memory.goals.n[0])
    held = model_words(memory.model) + int(np.count_nonzero(memory.starts))
    return (1 + 2 * n) * known.pairs + 3 * n + held + pauses.earnings_words(params)


# -- the way to each goal ------------------------------------------------------------------


def add_goal(memory: Memory, s: int) -> None:
    """Make a state a goal, to which no way is known yet."""
    g, n_states = new_goal(memory.goals, s), len(memory.starts)
    memory.geodesic[g] = 0.0
    for u in range(n_states):
        meet(memory.need.stale, g * n_states + u)


def _target(params: Params, memory: Memory, g: int, s_next: int) -> float:
    if s_next == memory.goals.place[g]:
        return 1.0
    return params.discount * best_value(memory.geodesic[g], s_next)


def _set_action_value(memory: Memory, s: int, a: int) -> None:
    """Set Q of a pair to the value of the best goal from there."""
    goals, best = memory.goals, 0.0
    for g in range(goals.n[0]):
        best = max(best, goals.reward[g] * memory.geodesic[g, s, a])
    memory.action_values[s, a] = best


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Remember all moves of the world and where episodes start, if it is pre-explored."""
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
    """Remember the move, and learn the way to each goal from it."""
    Q, G, goals = memory.action_values, memory.geodesic, memory.goals
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    pauses.note_experience(params, memory.earnings, Q, transition)
    if memory.model.n_edges[0] == 0:
        memory.starts[s] = 1.0
    before = Q[s, a]
    note_move(memory.need, memory.model, goals.n[0], s, a, s_next)
    if goals.number[s_next] < 0 and (r > 0.0 or params.candidates == ENTERED):
        add_goal(memory, s_next)
    entered = goals.number[s_next]
    if entered >= 0:  # which goals are likely, and what this one pays
        note_visit(goals, entered, r > 0.0, params.goal_rate)
        change = params.reward_rate * (r - goals.reward[entered])
        if change != 0.0:
            goals.reward[entered] += change
            for u in range(len(memory.starts)):
                for b in range(memory.priority.shape[1]):
                    _set_action_value(memory, u, b)
    for g in range(goals.n[0]):
        change = params.learning_rate * (_target(params, memory, g, s_next) - G[g, s, a])
        if change != 0.0:
            G[g, s, a] += change
            mark_changed(memory.need, memory.model, g, s)
    _set_action_value(memory, s, a)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    if (transition.terminated or transition.truncated) and params.forgetting > 0.0:
        fade_values(memory, 1.0 - params.forgetting)


def fade_values(memory: Memory, kept: float) -> None:
    """Let all values fade, and with them what is derived from them."""
    G, Q = memory.geodesic, memory.action_values
    G *= kept
    Q *= kept
    for place in range(memory.goals.n[0] * len(memory.starts)):
        meet(memory.need.stale, place)


# -- what a backup is worth ----------------------------------------------------------------


def _n_led(memory: Memory, g: int, s: int, length: int) -> int:
    """Count the moves that led to s, back to the first that was not a best move towards g."""
    goal, G = memory.goals.place[g], memory.geodesic[g]
    states, actions = memory.path
    n = 0
    while s != goal and n < length:
        u, b = states[length - 1 - n], actions[length - 1 - n]
        if u == goal or G[u, b] < best_value(G, u) - _NEAR:
            break
        n += 1
    return n


def _change_values(params: Params, memory: Memory, g: int, length: int, n: int) -> bool:
    """Back up the move after a path, and pass its error to the n moves before.

    Return whether it reaches them: it does if the move is a best one towards the goal.
    """
    G, model = memory.geodesic[g], memory.model
    states, actions = memory.path
    s, a = states[length], actions[length]
    s_next = model.edges[memory.need.latest[s, a]]["next_state"]
    change = params.replay_rate * (_target(params, memory, g, s_next) - G[s, a])
    reaches: bool = change != 0.0 and G[s, a] >= best_value(G, s) - _NEAR
    for i in range(n + 1):
        u, b = states[length - i], actions[length - i]
        memory.before[i] = G[u, b]
        G[u, b] += change
        change = params.discount * change if reaches else 0.0
    return reaches


def _evaluate(params: Params, memory: Memory, g: int, s: int, a: int, length: int, n: int) -> float:
    """Return the gain, for one goal, of a backup that passes its error to n moves."""
    if s == memory.goals.place[g]:
        return 0.0
    G = memory.geodesic[g]
    states, actions = memory.path
    states[length], actions[length] = s, a
    policy = Policy(params.policy, params.inverse_temperature, 0.0)
    _change_values(params, memory, g, length, n)
    gain = gain_on_the_way(memory.need, policy, g, s, G)
    for i in range(n, 0, -1):
        gain += gain_on_the_way(memory.need, policy, g, states[length - i], G)
    for i in range(n, -1, -1):
        G[states[length - i], actions[length - i]] = memory.before[i]
    return gain


def _refresh(params: Params, memory: Memory, length: int) -> None:
    """Recompute policies and gains that are stale, and the needs that follow from them."""
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
    """Weight gains by need and goals, including the gains of moves that an error is passed to."""
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
    """Back up the move after a path, for all goals; return how many moves its error reaches."""
    states, actions = memory.path
    furthest = 0
    for g in range(memory.goals.n[0]):
        n = _n_led(memory, g, states[length], length)
        if _change_values(params, memory, g, length, n):
            furthest = max(furthest, n)
        for i in range(n + 1):
            u, b = states[length - i], actions[length - i]
            if memory.geodesic[g, u, b] != memory.before[i]:
                mark_changed(memory.need, memory.model, g, u)
    return furthest


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Make the backup that is most valuable over goals, until none is worth its time."""
    Q, goals = memory.action_values, memory.goals
    states, actions = memory.path
    if pause.phase == START:
        memory.starts[pause.state] += 1.0
    if goals.n[0] == 0 or not pauses.is_due(params.replay_at, pause.phase):
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
        if worth <= params.min_priority or not pauses.goes_on(params, memory.earnings, worth, rng):
            break
        length = length if s == end else 0
        states[length], actions[length] = s, a
        s_next, need = memory.model.edges[memory.need.latest[s, a]]["next_state"], 0.0
        for g in range(goals.n[0]):
            need += goals.likely[g] * memory.need.visits[g, s]
        furthest = _back_up(params, memory, length)
        row = row if furthest == 0 and (s == end or s_next == last) else -1
        for i in range(furthest, -1, -1):
            u, b = states[length - i], actions[length - i]
            u_next = states[length - i + 1] if i > 0 else s_next
            before = Q[u, b]
            _set_action_value(memory, u, b)
            row = record(
                log, pause.phase, u, b, u_next, before, Q[u, b], np.nan, worth, pop, row,
                worth / need, need,
            )  # fmt: skip
        length, end, last = length + 1, s_next, s
