"""The report of an explanation: what was found, how sure it is, and what stays unexplained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analyses.reports.text import cells_in_markdown, listed, markdown, rows_of
from analyses.tables import LEARNER_LABELS

VERDICTS = {
    "account": "{name} explains this replay: probability {probability:.2f}, and its animals look "
    "like it.",
    "part": "{name} explains this replay in part: probability {probability:.2f}, and its animals "
    "look like it, but {but}.",
    "control": "No account: replay looks like {name}, which does not learn (probability "
    "{probability:.2f}).",
    "none": "None of these: {name} comes first ({probability:.2f}), but hardly any of its animals "
    "replays like this one (p {p}).{edges}",
    "undecided": "Undecided. What may explain this replay: {fitting}.{refused}",
    "few": "Too few sequences to name an account: {n}. {name} comes first ({probability:.2f}).",
}
"""Verdict -> the sentence that tells it."""

_TINY = 1e-9  # a value at the end of a range is within it, however it is rounded
_UNLIKELY = 0.05  # the claims of a class at most this probable are left out
# A parameter is as open as before if its 90 % interval holds this share of the prior; without any
# evidence it holds .9.
_AS_BEFORE = 0.8
LEVEL = 0.05
"""A class with a p of misfit of at most this is refused."""

_CLASSES = """Accounts joined by *or* are one class: they cannot be told apart after these moves. \
The p of misfit is how often an animal of the class is as unusual for it as this one; at .05 or \
less, the class is no explanation, however probable it is beside the others. It cannot be less \
than 1 / (1 + draws). The power is how often the test would notice that animals of the listed \
account most like the class are none of it: where it is low, a relative that is in no list would \
pass{weak}."""

_LEARNED = """simulated animals with these moves and {n_sequences:,} sequences each tell \
{account_bits:.1f} bits about which of {n_accounts} accounts they have"""

_TRUST = f"""How far to trust this: {_LEARNED}, in {{n_classes}} classes, and for {{named:.0%}} \
the true account alone is above .9. The true class came first in {{recovered:.0%}}; \
{{sure:.0%}} gave a probability above .9, and of these {{right_if_sure:.0%}} were right. The \
expected calibration error is {{calibration_error:.3f}}. An account that is not in the list may be \
taken for a relative that is."""

_UNTESTED = f"""Nothing was tested: {_LEARNED}, so that all of these are one class."""

_BITS = """The bits of a sequence are log2 of its probability: {walk_bits:.2f} under a walk along \
the track, and {ceiling_bits:.2f} under a model without a theory that learns from the animal's own \
replay in other laps. The share of the ceiling says how much of this way an account comes, on laps \
that did not choose its parameters. An account is known here by its mean moves in each lap, so \
that an account with a lower probability may have more bits: they say which sequences decide, not \
who wins."""

_GROUP = """Before any animal, each of these {n} rows is as frequent as the others and counts as \
one animal, so that a longer list expects less of each. An animal of which *none of these* is said \
is no evidence for any class."""

_PREDICTED = """Statistics of this replay beside what the account that comes first predicts for \
it: the same moves, as many sequences in each phase and lap, seen as imperfectly. Only replay in \
pauses counts, and what it is, not how much; a sequence is what it is in `statistics.csv` of a \
recording. `predictions.csv` and the figure have the others, too; in the comparison of `replay \
recording` they ran in other mazes."""


_CONDITIONS = """The mean share of moves that are replayed forward or backward, by where and when \
the animal paused, beside what the account that comes first predicts. `conditions.csv` has all \
accounts: one that predicts no change where there is one is contradicted, whatever its mean."""


def no_predictions(has_positions: bool) -> str:
    """Say why an animal has no row in ``predictions.csv``."""
    if has_positions:
        why = "it takes ten draws of an account that replay in the pauses in which this animal does"
    else:
        why = (
            "the positions of states are unknown; a folder of replay recording knows them, and "
            "takes other events by --events"
        )
    return f"No statistics stand beside predictions (predictions.csv is empty): {why}."


def as_one(names: str) -> str:
    """Put a class of several accounts into brackets, so that it is read as one.

    Examples
    --------
    >>> as_one("sfma"), as_one("dyna_q or graph_walks")
    ('sfma', '[dyna_q or graph_walks]')
    """
    return f"[{names}]" if " or " in names else names


def told_p(p: float, n_draws: int) -> str:
    """Write a p of misfit; the least that so many draws allow is an upper bound.

    Examples
    --------
    >>> told_p(0.25, 19), told_p(1 / 20, 19)
    ('= 0.250', '<= 0.050')
    """
    return f"{'=' if p > 1.001 / (1 + n_draws) else '<='} {p:.3f}"


def report_of_explanation(
    tables: Mapping[str, pd.DataFrame], notes: Sequence[str], claims: Mapping[str, tuple[str, str]]
) -> str:
    """Write the report in Markdown; `claims` are the source and the claim of each account."""
    shown = {name: cells_in_markdown(table) for name, table in tables.items()}
    parts = ["# Which account explains this replay?", listed(notes)]
    for verdict in rows_of(shown["verdicts.csv"]):
        own = {
            name: table[table["animal"] == verdict.animal]
            for name, table in shown.items()
            if "animal" in table
        }
        parts += _of_animal(verdict, own, claims)
    group = shown["group.csv"].sort_values("frequency", ascending=False)
    if len(group):
        rows = [
            (
                each.account,
                f"{each.frequency:.2f}",
                f"{each.low:.2f} to {each.high:.2f}",
                f"{each.exceedance:.3f}",
                f"{each.protected:.3f}",
            )
            for each in rows_of(group)
        ]
        header = ("accounts", "frequency", "90 %", "exceedance", "protected")
        parts += ["## All animals", markdown(header, rows), _GROUP.format(n=len(group))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _of_animal(
    verdict: Any, own: Mapping[str, pd.DataFrame], claims: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """Write the sections of one animal; a section of which there is nothing to say is empty."""
    yield f"## {verdict.animal}"
    yield f"**{verdict.text}**"
    yield from _probabilities(verdict, own["probabilities.csv"], claims)
    yield from _parameters(own["parameters.csv"])
    yield from _items(
        f"What {as_one(verdict.account)} does not explain: features outside of 90 % of its animals",
        [
            f"{_placed(each.meaning, own['places.csv'])}: {each.value:.3g}, expected "
            f"{each.low:.3g} to {each.high:.3g}"
            for each in rows_of(own["misfits.csv"])
        ],
    )
    yield from _predictions(verdict, own)
    yield from _items(
        "What tells accounts apart here, first",
        [_placed(name, own["places.csv"]) for name in own["importance.csv"]["meaning"].head(8)],
    )


def _probabilities(
    verdict: Any, table: pd.DataFrame, claims: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """Say how probable each class of accounts is, what it claims, and how far to trust this."""
    best = table.sort_values("probability", ascending=False).head(8)
    header = ("accounts", "probability", "draws", "p of misfit", "power of this test")
    rows = [
        (
            each.account,
            f"{each.probability:.3f}",
            str(each.n_draws),
            told_p(each.misfit, each.n_draws).removeprefix("= "),
            f"{each.power:.2f}",
            f"{each.bits:.2f}",
            f"{each.share_of_ceiling:.2f}",
        )
        for each in rows_of(best)
    ]
    yield markdown((*header, "bits per sequence", "share of the ceiling"), rows)
    likely = best[(best["probability"] > _UNLIKELY) | (best["account"] == verdict.account)]
    yield from _items(
        "What they claim",
        [
            f"{LEARNER_LABELS.get(name, name.replace('_', ' '))} (`{name}`; {claims[name][0]}): "
            f"{claims[name][1]}"
            for names in likely["account"] for name in names.split(" or ")
        ],
    )  # fmt: skip
    weak = [as_one(each.account) for each in rows_of(best[best["power"] <= LEVEL])]
    yield _CLASSES.format(weak=f", as here for {', '.join(weak)}" if weak else "")
    yield (_TRUST if verdict.n_classes > 1 else _UNTESTED).format(**verdict._asdict())
    yield _BITS.format(**verdict._asdict())
    again = [
        f"{as_one(each.account)} ({each.n_replicas:.0f} times)"
        for each in rows_of(table)
        if each.n_replicas > 1
    ]
    if again:
        yield (
            "Some accounts replay little. They ran the same laps several times, with other random "
            "numbers, until they had half as many sequences as the animal: "
            f"{', '.join(again)}."
        )
    untested = table.query("n_draws < 1 / @LEVEL - 1")
    if len(untested):
        names = ", ".join(map(as_one, untested["account"]))
        yield f"Of too few draws to be refused by any misfit: {names}."
    if verdict.silent:
        yield f"Too little replay after these moves to be compared: {verdict.silent}."


def _parameters(parameters: pd.DataFrame) -> Iterator[str]:
    """Say what this replay tells of the parameters of accounts, and of which it tells nothing."""
    is_open = (parameters["prior_share"] >= _AS_BEFORE) & (parameters["edge"] == "")
    yield from _items(
        "The parameters, where they are numbers (90 % intervals; those of the prior in brackets)",
        [
            f"{each.account}: {each.parameter} {each.median:.3g} ({each.low:.3g} to "
            f"{each.high:.3g}) [{each.prior_low:.3g} to {each.prior_high:.3g}]"
            + (f", at the {each.edge} edge of the prior" if each.edge else "")
            for each in rows_of(parameters[~is_open])
        ],
    )
    yield from _items(
        "Parameters as open as before, which this replay does not tell",
        [
            f"{account}: {', '.join(each['parameter'])}"
            for account, each in parameters[is_open].groupby("account", sort=False)
        ],
    )


def _predictions(verdict: Any, own: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Put what was found beside what the account that comes first predicts."""
    predicted = own["predictions.csv"]
    if not len(predicted):
        yield no_predictions(len(own["places.csv"]) > 0)
    known = set(predicted["account"])
    silent = [
        name for names in own["probabilities.csv"]["account"] for name in names.split(" or ")
        if known and name not in known
    ]  # fmt: skip
    if silent:
        yield f"Too little replay in these pauses to predict statistics: {', '.join(silent)}."
    predicted = predicted[predicted["account"].isin(verdict.account.split(" or "))]
    if len(predicted):
        yield _PREDICTED
        yield _beside(
            (f"{row.statistic}: {' '.join(row.label.split())}", row) for row in rows_of(predicted)
        )
    compared = own["conditions.csv"]
    compared = compared[compared["account"].isin(verdict.account.split(" or "))]
    if len(compared):
        yield _CONDITIONS
        yield _beside(
            (
                f"{row.sense} where {row.condition}"
                + (f", less where {row.versus}" if row.versus else ""),
                row,
            )
            for row in rows_of(compared)
        )


def _placed(feature: str, places: pd.DataFrame) -> str:
    """Say where the states of a feature are, if their positions are known.

    Examples
    --------
    >>> _placed("goes 0 to 1", pd.DataFrame({"state": [0, 1], "x": [4.0, 19.0], "y": [0.0, 0.0]}))
    'goes 0 to 1 (4, 0 to 19, 0 cm)'
    """
    if not len(places) or not feature.startswith(("begins at ", "ends at ", "goes ")):
        return feature
    where = places.set_index("state").loc[[int(n) for n in re.findall(r"\d+", feature)]]
    named = " to ".join(f"{row.x:.0f}, {row.y:.0f}" for row in rows_of(where))
    return f"{feature} ({named} cm)"


def _beside(named: Iterable[tuple[str, Any]]) -> str:
    """Write what was found beside what an account predicts."""
    rows = [
        (
            name,
            row.account,
            f"{row.value:.2f}",
            f"{row.predicted:.2f} ({row.predicted_low:.2f} to {row.predicted_high:.2f})",
            "outside"
            if row.value < row.predicted_low - _TINY or row.value > row.predicted_high + _TINY
            else "",
        )
        for name, row in named
    ]
    return markdown(("statistic", "account", "here", "predicted (90 %)", ""), rows)


def _items(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"- {item}" for item in items]
    if lines:
        yield f"{title}:"
        yield "\n".join(lines)
