"""The minimal work of each learner: one loop on plain arrays, without log, windows or options.

Each loop makes the same steps as `simulate` with the paper's parameters and the same seed, to the
last bit, so that `bench_learners` can set the two times side by side. Sweeping keeps its queue and
its model in the toolkit's own data structures.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from replay.jit import inlined
from replay.parts import priority_queue as queues
from replay.parts import world_model as models
from replay.simulation.driver import world_tables
from replay.worlds.mdp import MDP

__all__ = ["run_minimal"]

compiled = numba.njit(error_model="numpy", nogil=True, _nrt=False)


class World(NamedTuple):
    offset: np.ndarray
    successor: np.ndarray
    cumulative: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    starts: np.ndarray
    start_cumulative: np.ndarray


@inlined
def begin(world, rng):
    if len(world.starts) == 1:
        return world.starts[0]
    return world.starts[np.searchsorted(world.start_cumulative, rng.random(), side="right")]


@inlined
def outcome(world, pair, rng):
    entry, last = world.offset[pair], world.offset[pair + 1] - 1
    if entry < last:
        draw = rng.random()
        while entry < last and draw >= world.cumulative[entry]:
            entry += 1
    return entry


@inlined
def act(Q, s, epsilon, rng):
    n_actions = Q.shape[1]
    draw = rng.random()
    if draw < epsilon:
        return min(int(draw / epsilon * n_actions), n_actions - 1)
    best, n_best = Q[s, 0], 1
    for a in range(1, n_actions):
        if Q[s, a] > best:
            best, n_best = Q[s, a], 1
        elif Q[s, a] == best:
            n_best += 1
    chosen = 0
    if n_best > 1:
        chosen = min(int((draw - epsilon) / (1.0 - epsilon) * n_best), n_best - 1)
    for a in range(n_actions):
        if Q[s, a] == best:
            if chosen == 0:
                return a
            chosen -= 1
    return n_actions - 1


@inlined
def best(Q, s):
    largest = -np.inf
    for a in range(Q.shape[1]):
        if largest < Q[s, a] < np.inf:
            largest = Q[s, a]
    return largest if largest > -np.inf else 0.0


@compiled
def walk(world, Q, p, n_steps, rng):
    """Nothing is learned: what moving and drawing actions takes."""
    s, total = begin(world, rng), 0.0
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + act(Q, s, p.epsilon, rng), rng)
        total += world.reward[entry]
        s = world.successor[entry]
        if world.terminal[s]:
            s = begin(world, rng)
    return total


@compiled
def q_learning(world, Q, p, n_steps, rng):
    s, total = begin(world, rng), 0.0
    a = act(Q, s, p.epsilon, rng)
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        target = r if ended else r + p.discount * best(Q, entered)
        Q[s, a] = target if Q[s, a] == np.inf else Q[s, a] + p.learning_rate * (target - Q[s, a])
        total += r
        s, a = here, following
    return total


@inlined
def spread(Q, pairs, values, strength, end, n_traced, error, learning_rate):
    """Add an error to the traced pairs; values side by side can be added to four at a time."""
    table = Q.flat
    last, length = np.uint64(end), np.uint64(n_traced)
    first, oldest = last - length, np.uint64(len(strength)) - length
    untried = values[last - np.uint64(1)] == np.inf
    step = learning_rate * error
    for i in range(length):
        values[first + i] += step * strength[oldest + i]
    if untried:
        values[last - np.uint64(1)] = error
    for i in range(length):
        table[pairs[first + i]] = values[first + i]


@inlined
def trace(Q, pairs, values, s, a, end, n_traced, n_kept):
    """Add a pair; what is traced moves to the front when there is no room."""
    n_traced = min(n_traced, n_kept - 1)
    if end == len(pairs):
        for i in range(n_traced):
            pairs[i], values[i] = pairs[end - n_traced + i], values[end - n_traced + i]
        end = n_traced
    pairs[end], values[end] = s * Q.shape[1] + a, Q[s, a]
    return end + 1, n_traced + 1


@compiled
def q_lambda(world, Q, strength, pairs, values, p, n_steps, rng):
    end, n_traced = 0, 0
    s, total = begin(world, rng), 0.0
    a = act(Q, s, p.epsilon, rng)
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        target = r if ended else r + p.discount * best(Q, entered)
        error = target if Q[s, a] == np.inf else target - Q[s, a]
        end, n_traced = trace(Q, pairs, values, s, a, end, n_traced, len(strength))
        spread(Q, pairs, values, strength, end, n_traced, error, p.learning_rate)
        if ended:
            end, n_traced = 0, 0
        total += r
        s, a = here, following
    return total


@compiled
def n_step_td(world, Q, strength, pairs, values, states, actions, rewards, ends, p, n_steps, rng):
    end, n_traced, n = 0, 0, p.n
    s, total = begin(world, rng), 0.0
    a, place = act(Q, s, p.epsilon, rng), 0
    for time in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        states[place], actions[place], rewards[place], ends[place] = s, a, r, ended
        place = place + 1 if place + 1 < n else 0
        if time + 1 >= n:
            target, weight, i = 0.0, 1.0, place
            over = False
            for _ in range(n):
                target += weight * rewards[i]
                weight *= p.discount
                if ends[i]:
                    over = True
                    break
                i = i + 1 if i + 1 < n else 0
            bootstrap = Q[entered, following]
            if not over and bootstrap != np.inf:
                target += weight * bootstrap
            old_s, old_a = states[place], actions[place]
            error = target if Q[old_s, old_a] == np.inf else target - Q[old_s, old_a]
            end, n_traced = trace(Q, pairs, values, old_s, old_a, end, n_traced, len(strength))
            spread(Q, pairs, values, strength, end, n_traced, error, p.learning_rate)
            if ends[place]:
                end, n_traced = 0, 0
        total += r
        s, a = here, following
    return total


@compiled
def monte_carlo(world, Q, counts, pairs, rewards, p, n_steps, rng):
    table = Q.reshape(-1)
    s, total, length = begin(world, rng), 0.0, 0
    a = act(Q, s, p.epsilon, rng)
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        pairs[length], rewards[length] = s * Q.shape[1] + a, r
        length += 1
        if Q[s, a] == np.inf:
            Q[s, a] = 0.0
        if ended:
            G = 0.0
            for i in range(length - 1, -1, -1):
                G = p.discount * G + rewards[i]
                pair = pairs[i]
                counts[pair] += 1
                table[pair] = table[pair] * (1.0 - 1.0 / counts[pair]) + G / counts[pair]
            length = 0
        total += r
        s, a = here, following
    return total


@compiled
def episodic_control(world, Q, best_return, pairs, rewards, p, n_steps, rng):
    table = Q.reshape(-1)
    s, total, length = begin(world, rng), 0.0, 0
    a = act(Q, s, p.epsilon, rng)
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        pairs[length], rewards[length] = s * Q.shape[1] + a, r
        length += 1
        if Q[s, a] == np.inf:
            Q[s, a] = -np.inf
        if ended:
            G = 0.0
            for i in range(length - 1, -1, -1):
                G = p.discount * G + rewards[i]
                pair = pairs[i]
                best_return[pair] = max(G, best_return[pair])
                table[pair] = best_return[pair]
            length = 0
        total += r
        s, a = here, following
    return total


@inlined
def enqueue(queue, V, U, s, p):
    priority = abs(V[s] - U[s])
    if priority > p.min_priority:
        place = queue.position[s]
        if place < 0 or priority < queue.priority[place]:
            queues.set_priority(queue, s, priority, -1)


@compiled
def prioritized_sweeping(world, Q, V, U, model, queue, p, n_steps, rng):
    s, total, n_since = begin(world, rng), 0.0, 0
    a = act(Q, s, p.epsilon, rng)
    for _ in range(n_steps):
        entry = outcome(world, s * Q.shape[1] + a, rng)
        r, entered = world.reward[entry], world.successor[entry]
        ended = world.terminal[entered]
        here = begin(world, rng) if ended else entered
        following = act(Q, here, p.epsilon, rng)
        models.count_transition(model, s, a, entered, ended)
        n_since += 1
        N = model.visits[s, a]
        target = r if ended else r + p.discount * U[entered]
        Q[s, a] = target if N == 1 else (Q[s, a] * (N - 1) + target) / N
        V[s] = best(Q, s)
        enqueue(queue, V, U, s, p)
        n_pops = p.max_pops
        if p.reset_model:
            n_pops = n_since if ended else 0
        while n_pops > 0 and queue.size[0] > 0:
            n_pops -= 1
            popped = queues.pop(queue)
            change = p.discount * (V[popped] - U[popped])
            U[popped] = V[popped]
            edge = model.first_in[popped]
            while edge >= 0:
                before, b = model.edges[edge]["state"], model.edges[edge]["action"]
                Q[before, b] += change * model.edges[edge]["count"] / model.visits[before, b]
                V[before] = best(Q, before)
                enqueue(queue, V, U, before, p)
                edge = model.edges[edge]["next_in"]
        if p.reset_model and ended:
            models.clear_model(model)
            queues.clear(queue)
            n_since = 0
        total += r
        s, a = here, following
    return total


def run_minimal(mdp: MDP, module: str, params: Any, n_steps: int, seed: int) -> float:
    """Make one run; returns its total reward. `module` is that of the learner, or ``"walk"``."""
    view = world_tables(mdp)
    world = World(
        view.successor_offset, view.successor, view.cumulative, view.reward, view.terminal,
        view.start_state, view.start_cumulative,
    )  # fmt: skip
    start = getattr(params, "initial_value", np.inf)
    Q = np.full((mdp.n_states, mdp.n_actions), start)
    rng = np.random.default_rng(seed)
    return globals()[module](
        world, Q, *_scratch(mdp, module, params, n_steps), params, n_steps, rng
    )


def _scratch(mdp: MDP, module: str, params: Any, n_steps: int) -> tuple:
    n_pairs = mdp.n_states * mdp.n_actions
    if module in ("monte_carlo", "episodic_control"):
        kept = np.zeros(n_pairs, np.int64) if module == "monte_carlo" else np.full(n_pairs, -np.inf)
        return kept, np.empty(n_steps, np.int32), np.empty(n_steps)
    if module in ("q_lambda", "n_step_td"):
        strength = [1.0]
        while strength[-1] > 1e-12:
            strength.append(strength[-1] * (params.discount * params.trace_decay))
        room = len(strength) + 256
        traced = np.array(strength[::-1]), np.zeros(room, np.uint32), np.zeros(room)
        if module == "q_lambda":
            return traced
        return *traced, *(np.zeros(params.n, kind) for kind in (np.int32, np.int32, float, bool))
    if module == "prioritized_sweeping":
        start = params.initial_value if np.isfinite(params.initial_value) else 0.0
        V, U = np.full((2, mdp.n_states), start)
        model = models.world_model(mdp.n_states, mdp.n_actions, len(mdp.successor))
        return V, U, model, queues.priority_queue(mdp.n_states)
    return ()
