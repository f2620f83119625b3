"""How often the true account is found, and how often another is taken for it."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analyses.plots.panels import drawing, fitting_columns, grid
from analyses.plots.style import FULL_WIDTH, learner_looks, marked
from replay.checks import check_table

__all__ = ["goals_figure"]


_NOISE = ("none", "known", "unknown", "ignored")
_RECOVERED, _MOST_TAKEN, _JUDGED = 0.95, 0.05, 100


@drawing
def goals_figure(
    recovered: pd.DataFrame, left_out: pd.DataFrame, n_draws: int, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Draw how often the true account is found, and how often another is taken for it.

    Parameters
    ----------
    recovered, left_out : DataFrame
        ``recovered_accounts.csv`` and ``left_out_accounts.csv`` of the study.
    n_draws : int
        How often each account was simulated.

    Examples
    --------
    >>> recovered = pd.DataFrame({"task": "w_track", "n_sequences": [30, 100], "noise": "known",
    ...                           "recovered": [0.8, 0.9]})
    >>> left_out = pd.DataFrame({"task": "w_track", "account": ["sfma", "walks and shuffles"],
    ...                          "accepted": [0.1, 0.0]})
    >>> len(goals_figure(recovered, left_out, 32).axes)
    3
    """
    columns = ["task", "n_sequences", "noise", "recovered"]
    check_table(recovered, columns, "recovered", empty=False)
    check_table(left_out, ["task", "account", "accepted"], "left_out", empty=False)
    tasks = list(dict.fromkeys(recovered["task"]))
    looks = marked(learner_looks(tasks)).values()
    figure, axes = grid(
        ["True class first", "What is known of misread places", "True account not in the list"],
        fitting_columns(3, width_cm, 5.0), 1.7, width_cm=width_cm, legend=looks, legend_columns=3,
        note=f"Simulated animals whose account is known, {n_draws} of each account. Dashed: the "
        "goal. Middle and right: 100 sequences. Middle: no place is misread, or a fifth, and "
        "this share is known, unknown or ignored. Right: share of animals that are taken for "
        "another account with a probability above .9 and without misfit; small points: each class "
        "of accounts, large: their mean, and animals of walks and shuffles when no control is in "
        "the list.",
    )  # fmt: skip
    by_number, by_noise, of_others = axes
    known = recovered[recovered["noise"] == "known"]
    noises = [name for name in _NOISE if name in set(recovered["noise"])]
    at_hundred = recovered[recovered["n_sequences"] == _JUDGED]
    height = 0.5 / max(len(tasks), 1)
    for k, (task, look) in enumerate(zip(tasks, looks, strict=True)):
        style = {"color": look["color"], "marker": look["marker"], "markersize": 3.5}
        own = known[known["task"] == task]
        by_number.plot(own["n_sequences"], own["recovered"], **style)
        shift = height * (k - (len(tasks) - 1) / 2)
        shares = at_hundred[at_hundred["task"] == task].set_index("noise")["recovered"]
        y = [noises.index(name) + shift for name in shares.index]
        by_noise.plot(shares, y, linestyle="", **style)
        rows = left_out[left_out["task"] == task]
        is_control = rows["account"] == "walks and shuffles"
        each = rows.loc[~is_control, "accepted"]
        small = style | {"markersize": 2.0, "alpha": 0.4, "linestyle": ""}
        of_others.plot(each, np.full(len(each), shift), **small)
        of_others.plot(each.mean(), shift, **style)
        walks = rows.loc[is_control, "accepted"]
        of_others.plot(walks, np.full(len(walks), 1 + shift), **style)
    numbers = sorted(known["n_sequences"].unique())
    by_number.set(xscale="log", xlabel="Sequences of an animal", ylabel="Share of animals")
    by_number.set_xticks(numbers, [f"{n:,}" for n in numbers])
    by_number.minorticks_off()
    by_number.set_ylim(min(0.5, float(recovered["recovered"].min()) - 0.03), 1.02)
    by_number.axhline(_RECOVERED, color="k", linestyle="--", linewidth=0.7)
    by_noise.set_yticks(range(len(noises)), noises)
    by_noise.set_ylim(len(noises) - 0.5, -0.5)
    by_noise.set_xlim(right=1.02)
    by_noise.axvline(_RECOVERED, color="k", linestyle="--", linewidth=0.7)
    by_noise.set_xlabel("Share with the true class first")
    of_others.set_yticks([0, 1], ["accounts", fill("walks and shuffles", 10)])
    of_others.set_ylim(1.5, -0.5)
    of_others.set_xlim(-0.03, 1.03)
    of_others.axvline(_MOST_TAKEN, color="k", linestyle="--", linewidth=0.7)
    of_others.set_xlabel("Share taken for another")
    for ax in (by_noise, of_others):
        ax.tick_params(axis="y", length=0)
    return figure
