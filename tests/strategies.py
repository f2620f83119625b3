"""Small random and hand-made experiences, replay events, and the analyses by brute force."""

from itertools import pairwise

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from replay.log.event_log import EventLog

N_STATES = 5
N_ACTIONS = 2


def examples(number):
    """Ask for so many examples in the nightly profile, and for its share in the others."""
    everything = settings.get_profile("nightly").max_examples
    return settings(max_examples=max(1, number * settings().max_examples // everything))


@st.composite
def step_tables(draw, n_states=N_STATES, min_episodes=1):
    """Draw the steps of a run, self-transitions included: a list of dicts."""
    episodes = draw(
        st.lists(
            st.lists(st.integers(0, n_states - 1), min_size=2, max_size=9),
            min_size=min_episodes,
            max_size=6,
        )
    )
    steps = []
    for episode, path in enumerate(episodes):
        for i, (state, next_state) in enumerate(pairwise(path)):
            ends = i == len(path) - 2
            steps.append(
                {
                    "episode": episode,
                    "step": len(steps),
                    "state": state,
                    "action": draw(st.integers(0, N_ACTIONS - 1)),
                    "next_state": next_state,
                    "terminated": ends and episode % 2 == 0,
                    "truncated": ends and episode % 2 == 1,
                }
            )
    return steps


@st.composite
def logs(draw, decoded=False):
    """Draw the steps and backups of a run: tuple of two lists of dicts.

    Most backups continue an earlier one, in reverse or forward; some are anything at all.
    """
    steps = draw(step_tables())
    backups = []
    event, step = -1, draw(st.integers(0, len(steps) - 1))
    for row in range(draw(st.integers(0, 14))):
        if row == 0 or draw(st.integers(0, 3)) == 0:
            event += 1
            step = draw(st.integers(step, len(steps) - 1))
        cause = draw(st.integers(max(-1, row - 4), row - 1)) if row else -1
        before = backups[cause] if cause >= 0 else None
        how = draw(st.sampled_from(["reverse", "reverse", "forward", "forward", "jump"]))
        known = steps[draw(st.integers(0, len(steps) - 1))]
        if before and how == "reverse":
            known = _any_of(draw, steps, "next_state", before["state"]) or known
        elif before and how == "forward":
            known = _any_of(draw, steps, "state", before["next_state"]) or known
        elif draw(st.booleans()):
            states = st.integers(0, N_STATES)
            known = {**known, "state": draw(states), "next_state": draw(states)}
        ends = known["state"], known["next_state"]
        if before and not (before["state"] == ends[1] or before["next_state"] == ends[0]):
            cause = -1  # a log has no other causes than backups that join
        backups.append(
            {
                "step": step,
                "phase": "step" if event % 2 else "episode_end",
                "event": event,
                "state": known["state"],
                "action": -1 if decoded else known["action"],
                "next_state": known["next_state"],
                "cause": -1 if decoded else cause,
            }
        )
    return steps, backups


def _any_of(draw, steps, column, state):
    fitting = [step for step in steps if step[column] == state]
    return draw(st.sampled_from(fitting)) if fitting else None


def columns(rows, names):
    """Turn a list of dicts into a dict of arrays."""
    return {name: np.array([row[name] for row in rows], dtype=np.int64) for name in names}


def event_log(steps, backups, **more):
    """Make the event log of one run."""
    names = ["episode", "step", "state", "action", "next_state", "terminated", "truncated"]
    tables = {"steps": {name: [step[name] for step in steps] for name in names}}
    if backups:
        tables["backups"] = {name: [row[name] for row in backups] for name in backups[0]}
    return EventLog({**tables, **more})


def run_of(*episodes):
    """Write episodes as steps; each ends in its last state."""
    steps = []
    for episode, path in enumerate(episodes):
        for i, (state, next_state) in enumerate(pairwise(path)):
            steps.append(
                {
                    "episode": episode,
                    "step": len(steps),
                    "state": state,
                    "action": 0,
                    "next_state": next_state,
                    "terminated": i == len(path) - 2,
                    "truncated": False,
                }
            )
    return steps


def experienced_episodes(steps, until):
    """List the moves (state, action, next_state) of each episode up to a step."""
    episodes = {}
    for step in steps:
        if step["step"] <= until and step["state"] != step["next_state"]:
            move = (step["state"], step["action"], step["next_state"])
            episodes.setdefault(step["episode"], []).append(move)
    return episodes


def holding_episodes(moves, episodes, by="states"):
    """List the episodes that hold a path contiguously."""

    def text(moves):
        return [move if by == "actions" else (move[0], move[2]) for move in moves]

    n, path = len(moves), text(moves)
    return [
        episode
        for episode, run in episodes.items()
        if any(text(run)[i : i + n] == path for i in range(len(run) - n + 1))
    ]


def least_pieces(moves, episodes, by="states"):
    """Count the pieces that a path needs at least, by dynamic programming; None if impossible."""
    least = [0] + [None] * len(moves)
    for end in range(1, len(moves) + 1):
        counts = [
            least[begin] + 1
            for begin in range(end)
            if least[begin] is not None and holding_episodes(moves[begin:end], episodes, by)
        ]
        least[end] = min(counts, default=None)
    return least[-1]


def greedy_pieces(moves, episodes, by="states"):
    """Cut off the longest experienced beginning, again and again: begin, end, latest episode."""
    pieces, begin = [], 0
    while begin < len(moves):
        ends = [
            end
            for end in range(begin + 1, len(moves) + 1)
            if holding_episodes(moves[begin:end], episodes, by)
        ]
        if not ends:
            return []
        end = max(ends)
        pieces.append((begin, end, holding_episodes(moves[begin:end], episodes, by)[-1]))
        begin = end
    return pieces


def chains_by_definition(backups, order="causal", across_events=False):
    """List the chains of a run as (rows, orientation), in the order of their last rows."""
    found = []
    for row, backup in enumerate(backups):
        before = backup["cause"] if order == "causal" and backup["action"] >= 0 else row - 1
        chain, ways = [row], {"reverse", "forward"} if backup["action"] >= 0 else {None}
        if backup["event"] < 0 or backup["state"] == backup["next_state"]:
            found.append(([], set()))
            continue
        if before >= 0 and (backups[before]["event"] == backup["event"] or across_events):
            earlier, _ = found[before]
            fitting = {way for way in ways if earlier and _joined([*earlier, row], backups, way)}
            if fitting:
                chain, ways = [*earlier, row], fitting
        found.append((chain, ways))
    continued = {chain[-2] for chain, _ in found if len(chain) > 1}
    return [
        (chain, "reverse" if "reverse" in ways else next(iter(ways)))
        for chain, ways in found
        if chain and chain[-1] not in continued
    ]


def _joined(chain, backups, way):
    rows = [backups[row] for row in chain]
    if way is None and any(row["action"] >= 0 for row in rows):
        return False
    if way is not None and any(row["action"] < 0 for row in rows):
        return False
    if way == "reverse":
        return all(later["next_state"] == row["state"] for row, later in pairwise(rows))
    return all(later["state"] == row["next_state"] for row, later in pairwise(rows))
