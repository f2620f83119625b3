"""The report of an explanation: what was found, how sure it is, and what stays unexplained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analyses.studies.recorded_replay.report import cells_in_markdown, in_markdown

__all__ = ["VERDICTS", "write_explanation"]

VERDICTS = {
    "account": "{name} explains this replay: probability {probability:.2f}, and its animals look "
    "like it.",
    "control": "No account: replay looks like {name}, which does not learn (probability "
    "{probability:.2f}).",
    "none": "None of these: {name} comes first ({probability:.2f}), but hardly any of its animals "
    "replays like this one (p = {misfit:.3f}).",
    "undecided": "Undecided between {others}.",
    "few": "Too few sequences to name an account: {n}. {name} comes first ({probability:.2f}).",
}
"""Verdict -> the sentence that tells it."""


def write_explanation(path: Path, tables: Mapping[str, pd.DataFrame], notes: Sequence[str]) -> None:
    """Write the report in Markdown."""
    tables = {name: cells_in_markdown(table) for name, table in tables.items()}
    lines = ["# Which account explains this replay?", ""]
    lines += [f"- {in_markdown(note)}" for note in notes]
    for row in _rows(tables["verdicts.csv"]):
        lines += ["", f"## {row.animal}", "", f"**{row.text}**", ""]
        own = tables["probabilities.csv"].query("animal == @row.animal")
        best = own.sort_values("probability", ascending=False).head(8)
        lines += [
            "| accounts | probability | p of misfit | power of this test | bits per sequence | "
            "share of the ceiling |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {each.account} | {each.probability:.3f} | {each.misfit:.3f} | "
            f"{each.power:.2f} | {each.bits:.2f} | {each.share_of_ceiling:.2f} |"
            for each in _rows(best)
        ]
        lines += [
            "",
            "Accounts joined by *or* cannot be told apart after these moves. The p of misfit is "
            "how often an animal of the class is as unusual for it as this one; at .05 or less, "
            "the class is no explanation, however probable it is beside the others. The power is "
            "how often the test would notice that animals of the listed account most like the "
            "class are none of it: where it is low, a relative that is in no list would pass.",
            "",
            f"How far to trust this: of simulated animals with these moves and {row.n_sequences:,} "
            f"sequences each, the true class came first in {row.recovered:.0%}; {row.sure:.0%} "
            f"gave a probability above .9, and of these {row.right_if_sure:.0%} were right. The "
            f"expected calibration error is {row.calibration_error:.3f}. An account that is not in "
            "the list may be taken for a relative that is.",
            "",
            f"The bits of a sequence are log2 of its probability: {row.walk_bits:.2f} under a walk "
            f"along the track, and {row.ceiling_bits:.2f} under a model without a theory that "
            "learns from the animal's own replay in other laps. The share of the ceiling says how "
            "much of this way an account comes, on laps that did not choose its parameters. An "
            "account is known here by its mean moves in each lap, so that an account with a lower "
            "probability may have more bits: they say which sequences decide, not who wins.",
        ]
        if row.silent:
            lines += [
                "",
                f"Too little replay after these moves to be compared: {row.silent}.",
            ]
        lines += _listed(
            "The parameters, where they are numbers (90 % intervals; those of the prior in "
            "brackets)",
            [
                f"{each.account}: {each.parameter} {each.median:.3g} ({each.low:.3g} to "
                f"{each.high:.3g}) [{each.prior_low:.3g} to {each.prior_high:.3g}]"
                for each in _own(tables, "parameters.csv", row.animal)
            ],
        )
        lines += _listed(
            f"What {row.account} does not explain: features outside of 90 % of its animals",
            [
                f"{each.feature}: {each.value:.3g}, expected {each.low:.3g} to {each.high:.3g}"
                for each in _own(tables, "misfits.csv", row.animal)
            ],
        )
        lines += _predicted(_own(tables, "predictions.csv", row.animal), row.account.split(" or "))
        lines += _listed(
            "What tells accounts apart here, first",
            [each.feature for each in _own(tables, "importance.csv", row.animal)[:8]],
        )
    if len(tables["group.csv"]):
        lines += ["", "## All animals", ""]
        lines += [
            "| accounts | frequency | 90 % | exceedance | protected |", "|---|---|---|---|---|",
        ]  # fmt: skip
        lines += [
            f"| {each.account} | {each.frequency:.2f} | {each.low:.2f} to {each.high:.2f} | "
            f"{each.exceedance:.3f} | {each.protected:.3f} |"
            for each in _rows(tables["group.csv"].sort_values("frequency", ascending=False))
        ]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _predicted(rows: Sequence[Any], members: Sequence[str]) -> list[str]:
    """Tell the statistics that the most probable class predicts, and those that it does not."""
    own = [row for row in rows if row.account in members]
    if not own:
        return []
    lines = [
        "",
        "Statistics of this replay beside what the account that comes first predicts for it: the "
        "same moves, as many sequences in each phase and lap, seen as imperfectly. Only "
        "replay in pauses counts, and what it is, not how much; a sequence is what it is in "
        "`statistics.csv` of a recording. `predictions.csv` and the figure have all accounts; in "
        "the comparison of `replay recording` they ran in other mazes.",
        "",
        "| statistic | account | here | predicted (90 %) | |",
        "|---|---|---|---|---|",
    ]
    for row in own:
        is_within = row.predicted_low <= row.value <= row.predicted_high
        lines.append(
            f"| {row.statistic}: {' '.join(row.label.split())} | {row.account} | {row.value:.2f} | "
            f"{row.predicted:.2f} ({row.predicted_low:.2f} to {row.predicted_high:.2f}) | "
            f"{'' if is_within else 'outside'} |"
        )
    return lines


def _own(tables: Mapping[str, pd.DataFrame], name: str, animal: str) -> list[Any]:
    table = tables[name]
    return _rows(table[table["animal"] == animal])


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples())


def _listed(title: str, items: Sequence[str]) -> list[str]:
    return ["", f"{title}:", "", *[f"- {item}" for item in items]] if items else []
