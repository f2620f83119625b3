"""Backups per second of prioritized memory access, and the cost of need: run by hand.

``python tests/benchmarks/bench_memory_access.py``

The parameters are the published ones. Times are processor seconds for whole runs, with steps, need
and the log, in a single thread, after compilation: medians over seeds. The published code makes 40
backups per second in the open maze, and 120 on the linear track. Need is computed by elimination of
states; the alternative, sums over the future, is timed in turn along a walk with some steps between
two solutions: medians of the ratio.
"""

from statistics import median
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from replay.jit import kernel
from replay.learners.prioritized_memory_access.memory import explore_chain
from replay.parts.elimination import elimination, solve_visits
from replay.parts.markov_chain import expected_visits, markov_chain, move
from replay.simulation import simulate
from replay.worlds.mazes import open_maze, random_maze, two_way_track

WORLDS = {"open maze": open_maze(), "linear track": two_way_track(), "random maze": random_maze(20)}
DISCOUNTS = (0.9, 0.99)
N_STEPS = 200_000
N_SEEDS = 7
STEPS_BETWEEN = 50
N_SOLUTIONS = 200
PARAMS = {"pre_explored": True, "one_step_late": True}


def backups_per_second() -> Table:
    """Measure whole runs."""
    table = Table("world", "states", "discount", "us/backup", "backups/s", "us/pause", "ns/step")
    for name, mdp in WORLDS.items():
        for discount in DISCOUNTS:
            params = PARAMS | {"discount": discount}
            simulate(mdp, "prioritized_memory_access", params, n_steps=10)
            per_backup, per_pause, per_step = [], [], []
            for seed in range(N_SEEDS):
                begin = process_time()
                run = simulate(mdp, "prioritized_memory_access", params, n_steps=N_STEPS, seed=seed)
                time = process_time() - begin
                backups = run.log.backups
                per_backup.append(time / max(len(backups.drop_duplicates(["event", "pop"])), 1))
                per_pause.append(time / max(len(backups.drop_duplicates("event")), 1))
                per_step.append(time / N_STEPS)
            backup, pause, step = map(median, (per_backup, per_pause, per_step))
            table.add_row(
                name,
                str(mdp.n_states),
                str(discount),
                f"{backup * 1e6:.2f}",
                f"{1 / backup:,.0f}",
                f"{pause * 1e6:.0f}",
                f"{step * 1e9:.0f}",
            )
    return table


def need_per_pause() -> Table:
    """Measure solutions for need along a walk, by elimination and by sums."""
    table = Table("world", "states", "discount", "us eliminating", "us summing", "ratio")
    for name, mdp in WORLDS.items():
        n_edges = mdp.n_transitions + mdp.n_states**2
        for discount in DISCOUNTS:
            eliminating, summing = [], []
            for seed in range(N_SEEDS + 1):
                chain, solver = (
                    markov_chain(mdp.n_states, n_edges),
                    elimination(mdp.n_states, n_edges),
                )
                explore_chain(chain, mdp)
                path, visits = _walk(mdp, seed), np.zeros(mdp.n_states)
                for times, solve in ((eliminating, _by_elimination), (summing, _by_sums)):
                    begin = process_time()
                    solve(chain, solver, path, discount, visits)
                    times.append((process_time() - begin) / (len(path) - 1) * STEPS_BETWEEN)
            ratio = median(np.divide(summing[1:], eliminating[1:]))  # the first one compiles
            cells = (median(eliminating[1:]) * 1e6, median(summing[1:]) * 1e6, ratio)
            table.add_row(
                name, str(mdp.n_states), str(discount), *(f"{cell:.1f}" for cell in cells)
            )
    return table


def _walk(mdp, seed):
    """Walk at random; an end leads to a start."""
    rng = np.random.default_rng(seed)
    starts, state, path = np.flatnonzero(mdp.start_probability), 0, [0]
    for _ in range(N_SOLUTIONS * STEPS_BETWEEN):
        onward = starts if mdp.terminal[state] else mdp.successors(state, rng.integers(4))
        state = int(rng.choice(onward))
        path.append(state)
    return np.array(path)


@kernel
def _by_elimination(chain, solver, path, discount, visits):
    for i in range(len(path) - 1):
        move(chain, path[i], path[i + 1], 0.9)
        if i % STEPS_BETWEEN == 0:
            solve_visits(solver, chain, path[i + 1], discount, visits)


@kernel
def _by_sums(chain, solver, path, discount, visits):
    for i in range(len(path) - 1):
        move(chain, path[i], path[i + 1], 0.9)
        if i % STEPS_BETWEEN == 0:
            expected_visits(chain, path[i + 1], discount, visits)


def main() -> None:
    """Measure, and print the tables."""
    Console().print(backups_per_second())
    Console().print(need_per_pause())


if __name__ == "__main__":
    main()
