"""Replay and ripples where reward changes, in the data of Kleinman & Foster (2025) [1]_.

Rats ran back and forth on a linear track. In their Experiment 2, on familiar tracks, the reward at
its ends changed from lap to lap. What was published of it is that ripples follow the error of
predicted reward, also without dopamine (``Exp`` and ``drug``). This script prints how the rate of
ripples in a visit to an end depends on what is paid there now, and was paid there before: an error
rises with the former and falls with the latter::

    KLEINMAN_FOSTER=FOLDER python tests/verification/test_reward_change.py

In sessions with spikes, reward is increased at one end (``incr_end``) in the second of three
epochs. Reverse replay increases there, as in Ambrose et al. (2016) [2]_, while forward replay does
not, and without dopamine it increases at the unchanged end, too, in novel rooms. For such sessions
it counts forward, reverse and ambiguous replay by epoch and end, beside what was published (``more
reverse`` than in the first epoch, or nothing).

The data have no licence and do not ship with the toolkit: clone the repository
mattrkleinman/KleinmanFoster_2025_eLife, and name its folder, or one of a session. Only its folder
``Experiment_2`` is read, whose sessions have no spikes in the repository;
Experiment 1 is set aside.

References
----------
.. [1] Kleinman & Foster (2025), Spatial localization of hippocampal replay requires dopamine
   signaling. https://doi.org/10.7554/eLife.99678
.. [2] Ambrose, Pfeiffer & Foster (2016), Reverse replay of hippocampal place cells is uniquely
   modulated by changing reward. https://doi.org/10.1016/j.neuron.2016.07.047
"""

import os
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat, savemat

from analyses.recordings import find_replay
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Judgement
from analyses.reports import notes_of
from replay.worlds.tracks import make_linear_track

EXPERIMENT = "Experiment_2"
ENDS = ("left", "right")
KINDS = {"forward_episode": "forward", "reverse_episode": "reverse", "ambiguous": "ambiguous"}


def sessions_in(folder):
    """List the folders of sessions of Experiment 2, and those among them that have spikes."""
    place = Path(folder).resolve()
    place = place if EXPERIMENT in place.parts else place / EXPERIMENT
    known = sorted(path.parent for path in place.rglob("session_info.mat"))
    return known, [path for path in known if (path / "spike_data.mat").is_file()]


def visits_of(folder):
    """List the visits to both ends: what was paid then, and before, and the ripples."""
    info = loadmat(folder / "session_info.mat", simplify_cells=True)["session_info"]
    onset = np.sort(loadmat(folder / "ripple_events.mat")["ripple_events"][:, 0])
    time, x = np.asarray(info["velocity"])[:, 0], np.asarray(info["position"], dtype=float)
    paid = np.atleast_2d(np.asarray(info["reward_schedule"], dtype=float)) / 10  # ml
    found = []
    for side, end in enumerate(ENDS):
        visits = np.atleast_2d(np.asarray(info[f"{end}_visit"]))[: len(paid)].astype(int) - 1
        is_right = x[visits[:, 0]] > (np.nanmin(x) + np.nanmax(x)) / 2
        assert (is_right == bool(side)).all(), f"visits of {folder} are no samples of positions"
        begin, stop = time[visits].T
        n = np.searchsorted(onset, stop, side="right") - np.searchsorted(onset, begin)
        now = paid[: len(visits), side]
        before = np.append(np.nan, now[:-1])
        columns = {"now": now, "before": before, "seconds": stop - begin, "ripples": n}
        found.append(pd.DataFrame(columns))
    group = {"group": folder.parent.name.partition("_")[0], "drug": int(info.get("drug", 0))}
    visits = pd.concat(found, ignore_index=True).dropna().assign(**group)
    return visits[visits["seconds"] > 0]


def ripples_by_reward(folders):
    """Tell by group how the rate of ripples, in Hz, depends on what is and was paid, per ml."""
    rows = []
    for group, visits in pd.concat(map(visits_of, folders)).groupby(["group", "drug"]):
        paid = np.column_stack([np.ones(len(visits)), visits[["now", "before"]]])
        usual, now, before = np.linalg.lstsq(paid, visits["ripples"] / visits["seconds"])[0]
        rows.append((*group, len(visits), visits["ripples"].sum(), usual, now, before, "+", "-"))
    names = ["group", "drug", "visits", "ripples", "unpaid", "now", "before"]
    return pd.DataFrame(rows, columns=[*names, "published_now", "published_before"])


def read_session(folder):
    """Make a recording of a session, and return what is known of its reward."""
    info = loadmat(folder / "session_info.mat", simplify_cells=True)["session_info"]
    spikes = loadmat(folder / "spike_data.mat")["spike_data"]
    events = loadmat(folder / "sdes.mat")["sdes"]
    velocity = np.asarray(info["velocity"], dtype=float)
    x = np.asarray(info["position"], dtype=float).ravel()[: len(velocity)]
    begin = np.floor(np.nanmin(x))
    units = np.unique(spikes[:, 1:3], axis=0)
    cells = [np.sort(spikes[(spikes[:, 1:3] == unit).all(axis=1), 0]) for unit in units]
    table = pd.DataFrame({"start_time": events[:, 0], "end_time": events[:, 1]})
    recording = Recording(
        f"{folder.parent.name} {folder.name}",
        make_linear_track(float(np.ceil(np.nanmax(x)) - begin)),
        velocity[:, 0],
        np.column_stack([x - begin, np.zeros_like(x)]),
        tuple(cells),
        events=table.sort_values("start_time", ignore_index=True),
    )
    return recording, info


def epochs_and_ends(recording, info, time):
    """Return the epoch, from 1, and the nearer end of the track at each time."""
    changes = np.atleast_2d(np.asarray(info.get("epoch_change", np.empty((0, 2))), dtype=int))
    begins = recording.time[np.minimum(changes[:, 1], len(recording.time)) - 1]
    x = np.interp(time, recording.time, recording.position[:, 0])
    length = recording.position[:, 0].max()
    return np.searchsorted(begins, time, side="right") + 1, np.where(x < length / 2, *ENDS)


def count(folder, judgement=None):
    """Count the replay of a session by epoch, end and direction."""
    recording, info = read_session(folder)
    found = find_replay(recording, judgement=judgement or Judgement(other_sizes=()))
    replay = found.events[found.events["is_replay"]]
    epoch, end = epochs_and_ends(recording, info, replay["start_time"].to_numpy())
    increased = int(info["incr_end"]) - 1 if "incr_end" in info else None
    without_dopamine = info.get("drug", 0) and info.get("novel", 0)
    rows = pd.DataFrame(
        {
            "session": recording.name,
            "drug": int(info.get("drug", 0)),
            "epoch": epoch,
            "end": end,
            "reward": np.where(
                (epoch == 2) & (end == (ENDS[increased] if increased is not None else "")),
                "increased",
                "usual",
            ),
            "direction": replay["kind"].map(KINDS).fillna("other").to_numpy(),
        }
    )
    rises = (rows["epoch"] == 2) & (rows["reward"].eq("increased") | bool(without_dopamine))
    rows["published"] = np.where(rises, "more reverse", "")
    by = ["session", "drug", "epoch", "end", "reward", "published"]
    columns = {name: (rows["direction"] == name).astype(int) for name in (*KINDS.values(), "other")}
    table = rows[by].assign(**columns).groupby(by).sum()
    return table.reset_index(), notes_of(found)


def test_a_session_of_this_format_is_read(tmp_path):
    """A simulated session, written as the repository describes it."""
    from test_headings import observed

    seen, _ = observed(0.7, seed=1)
    own = seen.recording
    folder = tmp_path / EXPERIMENT / "Exp_1" / "20200101_run1"
    folder.mkdir(parents=True)
    velocity = np.column_stack([own.time, np.zeros(len(own.time))])
    n = len(own.time)
    change = np.array([[n // 3, n // 3 + 1], [2 * n // 3, 2 * n // 3 + 1]])
    info = {"position": np.append(own.position[:, 0], 0.0), "velocity": velocity,
            "epoch_change": change, "incr_end": 2, "drug": 0}  # fmt: skip
    spikes = np.concatenate(
        [np.column_stack([each, np.full(len(each), cell % 7), np.full(len(each), cell // 7)])
         for cell, each in enumerate(own.spikes)]
    )  # fmt: skip
    events = own.events[["start_time", "end_time", "start_time", "start_time"]].to_numpy()
    savemat(folder / "session_info.mat", {"session_info": info})
    savemat(folder / "spike_data.mat", {"spike_data": spikes[np.argsort(spikes[:, 0])]})
    savemat(folder / "sdes.mat", {"sdes": events})
    set_aside = tmp_path / "Exp_1" / "20200101_run1"
    copytree(folder, set_aside)
    assert sessions_in(tmp_path) == sessions_in(folder) == ([folder], [folder])
    assert sessions_in(set_aside) == ([], [])
    table, _ = count(folder, Judgement(n_shuffles=39, other_sizes=()))
    assert table[["forward", "reverse"]].sum(axis=None) >= 0.8 * len(own.events)
    assert set(table["epoch"]) == {1, 2, 3}
    assert set(table.loc[table["reward"] == "increased", "end"]) == {"right"}
    more = table["published"] == "more reverse"
    assert (more == ((table["epoch"] == 2) & (table["end"] == "right"))).all()


def test_ripples_that_follow_an_error_are_told(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / EXPERIMENT / "Con_1" / "20200101_run1"
    folder.mkdir(parents=True)
    paid = rng.choice([0.0, 2.0, 8.0], size=(60, 2))
    x = np.tile(np.repeat([0.0, 50.0, 100.0, 50.0], 300), 60)  # left, on the way, right, ...
    time = np.arange(len(x)) / 30
    left = 1200 * np.arange(60)[:, None] + [1, 300]
    error = np.diff(paid, axis=0, prepend=paid[:1]) / 10
    n = rng.poisson(10 * (1 + error))
    begin = np.column_stack([time[left[:, 0] - 1], time[left[:, 0] + 599]])
    onset = np.concatenate([begin[at] + rng.uniform(0, 9.9, n[at]) for at in np.ndindex(60, 2)])
    info = {"position": x, "velocity": np.column_stack([time, time]), "reward_schedule": paid,
            "left_visit": left, "right_visit": left + 600, "drug": 1, "novel": 0}  # fmt: skip
    savemat(folder / "session_info.mat", {"session_info": info})
    savemat(folder / "ripple_events.mat", {"ripple_events": np.column_stack([onset] * 4)})
    [row] = ripples_by_reward(sessions_in(tmp_path)[0]).to_dict("records")
    assert (row["group"], row["drug"], row["visits"]) == ("Con", 1, 118)
    assert row["ripples"] == n[1:].sum()
    assert row["now"] == pytest.approx(1.0, abs=0.25)
    assert row["before"] == pytest.approx(-1.0, abs=0.25)


def shared():
    beside = Path(__file__).parents[3] / "shared" / "KleinmanFoster_2025_eLife"
    return os.environ.get("KLEINMAN_FOSTER", str(beside))


@pytest.mark.slow
def test_each_session():
    """Print the counts; what they must be is not known."""
    every, with_spikes = sessions_in(shared())
    if not every:
        pytest.skip("no session of Experiment 2: name their folder in KLEINMAN_FOSTER")
    table = ripples_by_reward(every)
    print(table.to_string())
    assert (table["visits"] > 0).all()
    for folder in with_spikes:
        table, notes = count(folder)
        print(*notes, table.to_string(), sep="\n")
        assert (table[[*KINDS.values(), "other"]].sum(axis=1) > 0).all()


if __name__ == "__main__":
    every, chosen = sessions_in(shared())
    print(f"{len(chosen)} of {len(every)} sessions of Experiment 2 in {shared()} have spikes.")
    if every:
        print(ripples_by_reward(every).to_string(index=False))
    for each in chosen:
        counted, sentences = count(each)
        print(*(text for text in sentences if "heading" in text), sep="\n")
        print(counted.to_string(index=False), flush=True)
