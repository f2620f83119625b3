"""Every step, backup and snapshot of the original simulations of prioritized memory access.

`reference/memory_access_*` holds two runs of the code of Mattar & Daw (2018) with all outcomes of
its random draws: a linear track and an open maze, 50 episodes each. Here the draws are imposed.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import imposed_memory_access
import numpy as np
import pandas as pd
import pytest

from analyses.sequences.segments import find_segments
from replay import feed
from replay.worlds.mazes import open_maze, two_way_track

REFERENCE = Path(__file__).with_name("reference")
WORLDS = {"linear": two_way_track(), "open": open_maze()}
WORLD = pytest.mark.parametrize("world", WORLDS)
ACTIONS = np.array([0, 0, 2, 1, 3])
"""Ours of theirs: 1 up, 2 down, 3 right, 4 left."""
TOLERANCE = {"rtol": 0, "atol": 1e-9}
NEVER_ON = {
    "lambda": 0,
    "planPolicy": "softmax",
    "onVSoffPolicy": "off-policy",
    "Tgoal2start": True,
    "tieBreak": "min",
    "remove_samestate": True,
    "allowLoops": False,
    "copyQinPlanBkps": False,
}
"""Options of their code that the learner does not have, as their authors set them. There, too, a
pause also ends below the mean reward if that is less than the threshold: here neither is below 0.
"""


def table(world, name):
    return pd.read_csv(REFERENCE / f"memory_access_{world}_{name}.csv.gz")


def parameters(world):
    given = json.loads((REFERENCE / f"memory_access_{world}_params.json").read_text())
    assert {key: given[key] for key in NEVER_ON} == NEVER_ON
    policies = {"softmax": "softmax", "e_greedy": "epsilon_greedy"}
    need = {"online": "successor_representation", "offline": "stationary_distribution"}
    return {
        "discount": given["gamma"],
        "act_policy": policies[given["actPolicy"]],
        "inverse_temperature": given["softmaxInvT"],
        "epsilon": given["epsilon"],
        "learning_rate": given["alpha"],
        "transition_rate": given["TLearnRate"],
        "replay_at": "start_and_end" if given["planOnlyAtGorS"] else "step",
        "one_step_late": True,
        "max_backups": given["nPlan"],
        "min_priority": given["EVMthresh"],
        "use_gain": not given["setAllGainToOne"],
        "gain_floor": given["baselineGain"],
        "need": "one"
        if given["setAllNeedToOne"]
        else "current_state"
        if given["setAllNeedToZero"]
        else need[given["onlineVSoffline"]],
        "n_step": given["expandFurther"],
        "pre_explored": given["preExplore"],
    }


def numbering(mdp):
    """Our states of theirs, which count down the columns from 1."""
    height = max(y for _, y in mdp.labels)
    ours = np.full(height * max(x for x, _ in mdp.labels) + 1, -1)
    for state, (x, y) in enumerate(mdp.labels):
        ours[height - y + 1 + (x - 1) * height] = state
    return ours


def path_of(numbers):
    return np.array(str(numbers).split(), dtype=float)


@cache
def original(world):
    """Read their steps and backups, in our numbers."""
    ours = numbering(WORLDS[world])
    steps, backups = table(world, "steps"), table(world, "backups")
    transitions = pd.DataFrame(
        {
            "state": ours[steps["s"]],
            "action": ACTIONS[steps["a"]],
            "reward": steps["reward"],
            "next_state": ours[steps["s_next"]],
            "q_after": steps["Q_s_a_after"],
        }
    )
    transitions["terminated"] = WORLDS[world].terminal[transitions["next_state"]]
    backups["step"] = backups["tsi"] - 1
    for column in ("seq_s", "seq_a", "gain_per_step", "Q_after_per_step"):
        backups[column] = backups[column].map(path_of)
    backups["states"] = [ours[states.astype(int)] for states in backups["seq_s"]]
    backups["actions"] = [ACTIONS[actions.astype(int)] for actions in backups["seq_a"]]
    backups["extending"] = [-1 if np.isnan(a) else ACTIONS[int(a)] for a in backups["ext_a"]]
    return transitions, backups


@cache
def imposed(world):
    """Feed their steps; return our log, and what was known before each backup."""
    transitions, backups = original(world)
    mdp = WORLDS[world]
    choices = dict(list(backups.groupby("step")))
    known = []

    def on_step(k, memory):
        if k in choices:
            for pop in range(len(choices[k])):
                now = SimpleNamespace(need=memory.kept_need[pop].copy())
                now.path = memory.kept_path[pop].copy()
                now.Q, now.gain, now.priority = memory.kept[pop].copy()
                now.extended, now.best = memory.kept_best[pop]
                known.append(now)
        if k + 1 in choices:
            rows = choices[k + 1]
            last = [
                (states[-1], actions[-1])
                for states, actions in rows[["states", "actions"]].to_numpy()
            ]
            memory.imposed[: len(rows)] = np.column_stack(
                (rows["extending"], rows["n_steps"], last)
            )

    log = feed(
        imposed_memory_access,
        transitions.drop(columns="q_after"),
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        params=parameters(world),
        on_step=on_step,
        mdp=mdp,
    )
    return log, known


@WORLD
def test_every_step(world):
    transitions, _ = original(world)
    for row in transitions.itertuples():
        assert WORLDS[world].successors(row.state, row.action).tolist() == [row.next_state]
    log, _ = imposed(world)
    online = log.backups.query("phase == 'online'")
    np.testing.assert_allclose(online["q_after"], transitions["q_after"], **TOLERANCE)


@WORLD
def test_every_backup(world):
    _, theirs = original(world)
    log, known = imposed(world)
    ours = log.backups.query("phase != 'online'")
    groups = list(ours.groupby(["step", "pop"]))
    assert len(groups) == len(theirs) == len(known) == 1980
    for ((step, pop), rows), before, row in zip(groups, known, theirs.itertuples(), strict=True):
        assert (step, pop) == (row.step, row.p - 1)
        assert rows["state"].tolist() == row.states.tolist()
        assert rows["action"].tolist() == row.actions.tolist()
        np.testing.assert_allclose(rows["gain"], row.gain_per_step, **TOLERANCE)
        np.testing.assert_allclose(rows["need"], row.need, **TOLERANCE)
        np.testing.assert_allclose(rows["priority"], row.EVB, **TOLERANCE)
        np.testing.assert_allclose(rows["q_after"], row.Q_after_per_step, **TOLERANCE)
        assert rows["reward"].iloc[-1] == row.r
        # Nothing else is worth more: ties are rarely exact, by the rounding of their inverse.
        best = max(before.extended, before.best)
        assert best == pytest.approx(row.EVB, rel=1e-9, abs=1e-18)
        if np.isnan(row.ext_EVB):
            assert before.extended == -1.0
        else:
            assert before.extended == pytest.approx(row.ext_EVB, rel=0, abs=1e-9)
        n_candidates = np.count_nonzero(before.priority >= 0) + (before.extended >= 0)
        assert n_candidates == row.n_candidates


@WORLD
def test_every_snapshot(world):
    _, known = imposed(world)
    ours = numbering(WORLDS[world])
    inside = ours >= 0
    path = REFERENCE / f"memory_access_{world}_snapshots.jsonl.gz"
    snapshots = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert len(snapshots) == 180
    for snapshot in snapshots:
        before = known[snapshot["backup"]]
        Q, need = np.array(snapshot["Q"])[inside[1:]], np.array(snapshot["SR_row_of_agent"])
        np.testing.assert_allclose(before.Q[ours[inside]][:, ACTIONS[1:]], Q, **TOLERANCE)
        np.testing.assert_allclose(before.need[ours[inside]], need[inside[1:]], **TOLERANCE)
        candidates = np.array(snapshot["one_step_candidates"]["rows"])
        pairs = ours[candidates[:, 0].astype(int)], ACTIONS[candidates[:, 1].astype(int)]
        np.testing.assert_allclose(before.gain[pairs], candidates[:, 4], **TOLERANCE)
        np.testing.assert_allclose(before.priority[pairs], candidates[:, 6], **TOLERANCE)
        assert np.count_nonzero(before.priority >= 0) == len(candidates)
        extended = snapshot["n_step_candidate"]
        if extended:
            gains = before.path[: len(extended["gain_per_step"])]
            np.testing.assert_allclose(gains, extended["gain_per_step"], **TOLERANCE)


@WORLD
def test_every_segment(world):
    log, _ = imposed(world)
    ours = find_segments(log.backups)
    theirs = table(world, "events")
    assert len(ours) == len(theirs)
    number = numbering(WORLDS[world])
    assert ours["step"].tolist() == (theirs["tsi"] - 1).tolist()
    assert ours["place"].tolist() == theirs["where"].tolist()
    assert ours["direction"].str[0].str.upper().tolist() == theirs["direction"].tolist()
    assert ours["first"].tolist() == theirs["first_backup_in_event"].tolist()
    assert ours["length"].tolist() == theirs["n_states"].tolist()
    np.testing.assert_allclose(ours["priority"], theirs["max_EVB"], **TOLERANCE)
    for mine, states, actions in zip(
        ours.itertuples(), theirs["states"], theirs["actions"], strict=True
    ):
        assert mine.states == tuple(number[path_of(states).astype(int)])
        assert mine.actions == tuple(ACTIONS[path_of(actions).astype(int)])
