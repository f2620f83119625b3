"""Examples of replayed sequences to draw, picked by a rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

from replay.checks import check_array, check_column, check_table

_LONGEST_SHOWN = 30  # states of an example that can still be followed by eye
_CLEAR = 3  # moves of the shortest piece of a clear example
_CHOSEN_BY = [
    "run", "step", "phase", "location", "states", "kind", "length", "n_distinct", "n_episodes",
    "composition_order", "splice_states",
]  # fmt: skip


def pick_examples(sequences: pd.DataFrame, steps: pd.DataFrame) -> dict[str, pd.Series]:
    """Pick the sequence of each kind, from 3 to 30 states long, that shows best what the kind is.

    Criteria are listed in order of priority. For an experienced path: it begins where the agent is,
    in the pause at the end of an episode, visits many states and returns to few. For a novel path:
    it begins where the agent is and returns to no state; each piece has three or more moves; there
    are few pieces, from several episodes; the shortest piece is long, and so is the whole. Ties are
    broken in favour of the first sequence.
    """
    check_table(sequences, _CHOSEN_BY, "sequences")
    check_table(steps, ["run", "state", "next_state"], "steps")
    whole = {
        column: check_column(sequences, column, "sequences", kind="whole")
        for column in ("length", "n_distinct", "location")
    }
    for column in ("run", "state", "next_state"):
        check_column(steps, column, "steps", kind="whole")
    for states in sequences["states"]:
        check_array(states, "The states of a sequence", kind="whole")
    sequences = sequences.assign(**whole)
    legible = sequences[sequences["length"].between(3, _LONGEST_SHOWN)]
    # At the agent: at its place or one move from it.
    first = np.array([states[0] for states in legible["states"]], dtype=np.int64)
    location = legible["location"].to_numpy(dtype=np.int64)
    pairs = pd.MultiIndex.from_arrays([legible["run"], first, location])
    back = pd.MultiIndex.from_arrays([legible["run"], location, first])
    made = pd.MultiIndex.from_frame(steps[["run", "state", "next_state"]].drop_duplicates())
    at_agent = (first == location) | pairs.isin(made) | back.isin(made)
    legible = legible.assign(at_agent=at_agent, returns=legible["length"] - legible["n_distinct"])
    examples = {}
    for kind in ("reverse_episode", "forward_episode", "novel_path"):
        own = legible[legible["kind"] == kind]
        if len(own):
            if kind == "novel_path":
                ranks = _novel_ranks(own)
            else:
                ranks = pd.DataFrame(
                    {
                        "at_agent": own["at_agent"],
                        "at_end": own["phase"] == "episode_end",
                        "straight": own["n_distinct"] - own["returns"],
                        "states": own["n_distinct"],
                    }
                )
            best = ranks.sort_values(list(map(str, ranks)), ascending=False, kind="stable").index[0]
            examples[kind] = sequences.loc[best]
    return examples


def _novel_ranks(sequences: pd.DataFrame) -> pd.DataFrame:
    pieces = sequences["composition_order"].astype(float)
    shortest = np.zeros(len(sequences), dtype=np.int64)
    simple = np.flatnonzero((sequences["returns"] == 0) & (pieces <= pieces.min() + 2))
    for k in simple:
        row = sequences.iloc[k]
        states = np.asarray(row["states"])
        joints = np.flatnonzero(np.isin(states, row["splice_states"]))
        shortest[k] = np.diff([0, *joints, len(states) - 1]).min()
    return pd.DataFrame(
        {
            "at_agent": sequences["at_agent"],
            "simple": sequences["returns"] == 0,
            "clear": shortest >= _CLEAR,
            "few": -pieces,
            "several": sequences["n_episodes"] > 1,
            "shortest": shortest,
            "straight": -sequences["returns"],
            "length": sequences["length"],
        }
    )
