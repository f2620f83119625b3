"""Segments of replay events, forward or reverse by the rule of Mattar & Daw (2018) [1]_.

Only the last step of each backup counts, so that a path that grows step by step is one segment. Two
successive backups are forward if the first leads to the state of the second, and reverse if the
second leads to the state of the first, even if both are true. A segment is a maximal run in one
direction.

References
----------
.. [1] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z
"""

import numpy as np
import pandas as pd

from replay.checks import check_table

_PLACES = {"episode_end": "goal", "start": "start", "step": "start", "rest": "rest"}
"""Learners that replay one step late replay the start of an episode in phase ``step``."""


def find_segments(backups: pd.DataFrame, min_length: int = 5) -> pd.DataFrame:
    """Find the segments of replay events that continue in one direction.

    One row per segment, with `place` (``goal``, ``start`` or ``rest``), `first` (the position of
    its first backup in the event), `states` and `actions` in order of replay, and the highest
    `priority`.
    """
    whole = ["run", "episode", "step", "event"]
    columns = [*whole, "phase", "pop", "state", "action", "next_state", "priority"]
    check_table(backups, columns, "backups")
    if min_length < 2:
        raise ValueError(f"A segment has at least 2 states; got min_length={min_length}.")
    replayed = backups.loc[backups["event"] >= 0, columns]
    # An n-step backup is one pop of several rows; the last row is the newest step.
    last = replayed.drop_duplicates(["run", "event", "pop"], keep="last")
    state, next_state, run, event = (
        last[name].to_numpy() for name in ("state", "next_state", "run", "event")
    )
    # The direction from each backup to the next; 0 if there is none.
    together = (run[1:] == run[:-1]) & (event[1:] == event[:-1])
    reverse, forward = next_state[1:] == state[:-1], next_state[:-1] == state[1:]
    direction = np.select([together & reverse, together & forward], [2, 1], 0)
    edges = np.flatnonzero(np.diff(direction, prepend=-1, append=-1))
    begins, lengths = edges[:-1], np.diff(edges) + 1
    kept = (direction[begins] > 0) & (lengths >= min_length)
    begins, lengths = begins[kept], lengths[kept]
    rows = [slice(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)]
    first = last.iloc[begins]
    return pd.DataFrame(
        {
            **{name: first[name].to_numpy() for name in whole},
            "place": first["phase"].astype(str).map(_PLACES).to_numpy(),
            "direction": np.array(["", "forward", "reverse"])[direction[begins]].astype(object),
            "first": first["pop"].to_numpy(),
            "length": lengths,
            "states": [tuple(last["state"].iloc[part].tolist()) for part in rows],
            "actions": [tuple(last["action"].iloc[part].tolist()) for part in rows],
            "priority": [last["priority"].iloc[part].max() for part in rows],
        }
    )


def segments_per_episode(segments: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Compute the number of segments per episode, at the start and at the goal."""
    check_table(segments, ["run", "place", "direction"], "segments")
    check_table(steps, ["run", "episode"], "steps")
    n_episodes = steps.groupby("run")["episode"].nunique()
    cells = pd.MultiIndex.from_product(
        [n_episodes.index, ["start", "goal"], ["forward", "reverse"]],
        names=["run", "place", "direction"],
    )
    counts = segments.groupby(["run", "place", "direction"]).size().reindex(cells, fill_value=0)
    table = counts.rename("n_segments").reset_index()
    table["n_episodes"] = table["run"].map(n_episodes)
    return table.assign(per_episode=table["n_segments"] / table["n_episodes"])
