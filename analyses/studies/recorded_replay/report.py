"""The report on a recording: data, criteria, results and caveats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.choices import describe_dependence
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.heading import expected_without
from analyses.recordings.decide.order import UNORDERED
from analyses.recordings.prepare.session import Session
from analyses.recordings.recover.shares import RecordedShares
from analyses.studies.recorded_replay.statistics import LEFT_OUT

__all__ = ["BESIDE_ACCOUNTS", "KIND_NAMES", "LEAST_SEQUENCES", "accounts_table"]
__all__ += [
    "cells_in_markdown",
    "count_replay",
    "enough_sequences",
    "headings_told",
    "in_markdown",
    "passing_by_chance",
    "replay_by_chance",
    "statistics_table",
    "with_interval",
    "write_report",
]

LEAST_SEQUENCES = 5
"""The least number of sequences of a statistic that is reported and compared."""

BESIDE_ACCOUNTS = (
    "The predictions of accounts of replay for the same statistics are for the maze, the laps and "
    "the criteria of detection of the study that is named, not for this recording: values may "
    "differ for this reason, or because of too few cells. The table has the number of accounts, "
    "and of controls without learning, for which the value here lies within the range of 90 % of "
    "their simulated studies. This is neither a test nor a likelihood."
)
"""The caveat that must accompany predictions beside the statistics of a recording."""

_LEVEL = 0.05
KIND_NAMES = {
    "reverse_episode": "reverse replay of an episode",
    "forward_episode": "forward replay of an episode",
    "novel_path": "a novel path",
    "ambiguous": "an episode, in an unknown direction or turning",
    "unexperienced": "a move never made",
    "no_sequence": "no sequence",
}
"""The names of the kinds of events in reports."""


_MARKUP = re.compile(
    r"[\\`*~$|]|<(?=[a-zA-Z/!?])|\](?=[(\[:])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)"
    r"|^(?:[#>+=]|-(?![\d.]))"
)
_NUMBERED = re.compile(r"^(\d+)(?=[.)](?: |$))")


def write_report(
    path: str | Path,
    session: Session,
    found: Conclusions,
    choices: pd.DataFrame,
    shares: RecordedShares,
    statistics: pd.DataFrame,
    accounts: pd.DataFrame,
    epochs: Sequence[str] = (),
    more: str = "",
) -> None:
    """Write the report as Markdown; `epochs` is its section on them."""
    recording, judgement = session.recording, session.judgement
    choices, statistics, accounts = map(cells_in_markdown, (choices, statistics, accounts))
    text = [
        f"# Replay in {in_markdown(recording.name)}",
        describe_dependence(choices),
        "## What was read and done",
        *(f"- {in_markdown(each)}" for each in found.notes if each not in found.explanations),
        *([f"- {more}"] if more else []),
        "## What was found",
        " ".join(
            filter(
                None,
                [
                    f"{count_replay(found.events)}.",
                    replay_by_chance(found.events, found.calibration),
                    *map(in_markdown, found.explanations),
                    headings_told(found.events, found.calibration),
                ],
            )
        ),
        _kinds_table(found.kinds, judgement.state_size),
        "Intervals are 95 % Wilson intervals over the events of this recording. Events of one "
        "animal are similar, so the intervals do not generalise to other animals.",
        "## Events in no order",
        "Simulated events represent places in no order; they are as long as the candidate events, "
        "with as many spikes.",
        _by_chance(found),
        "## Shares corrected for what this recording misses",
        _shares(shares.table),
        shares.note,
        "## Dependence of shares on choices",
        "One choice at a time is changed: the size of states, the nodes where laps end, the least "
        "length of a sequence, its largest jump, and the share of randomised events that may pass.",
        _by_choice(choices),
        *epochs,
        "## Statistics",
        "Statistics are of replay at rest and at the ends of laps. Those that need more than the "
        "track and the laps are missing, unless the track has the landmarks that they need, and so "
        f"are those of fewer than {LEAST_SEQUENCES} sequences (statistics.csv has them)."
        " Those of order and of rates are left out: " + "; and ".join(LEFT_OUT.values()) + ".",
        statistics_table(enough_sequences(statistics)),
        "## Predictions of accounts of replay",
        BESIDE_ACCOUNTS,
        accounts_table(accounts),
        "## Criteria",
        _listed(_criteria(session.settings, judgement)),
        "## Origin of the data",
        _listed(recording.origin.items()),
    ]
    Path(path).write_text("\n\n".join(_joined(text)) + "\n", "utf-8")


def in_markdown(text: str) -> str:
    r"""Keep a text from a file plain, in its line and its cell: no HTML, links, code or formulas.

    Examples
    --------
    >>> print(in_markdown("CA1 <img src=a>\n# ![x](b) | p < .05"))
    CA1 \<img src=a> # ![x\](b) \| p < .05
    """
    return _NUMBERED.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", " ".join(text.split())))


def cells_in_markdown(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the texts of a table plain, by `in_markdown`."""
    texts = table.select_dtypes(exclude=["number", "bool"])
    return table.assign(
        **{
            str(name): [
                in_markdown(cell) if isinstance(cell, str) else cell for cell in texts[name]
            ]
            for name in texts
        }
    )


def _joined(parts: Sequence[str]) -> list[str]:
    """Join successive items of a list to one part."""
    found: list[str] = []
    for part in parts:
        if part.startswith("- ") and found and found[-1].startswith("- "):
            found[-1] += f"\n{part}"
        elif part:
            found.append(part)
    return found


def count_replay(events: pd.DataFrame) -> str:
    """Say how many candidate events are replay.

    Examples
    --------
    >>> count_replay(pd.DataFrame({"is_replay": [True, False]}))
    '1 of 2 candidate events is replay'
    """
    n = int(events["is_replay"].sum())
    return f"{n} of {len(events)} candidate events {'is' if n == 1 else 'are'} replay"


def replay_by_chance(events: pd.DataFrame, calibration: Calibration | None) -> str:
    """Describe how many replay events are expected by chance; empty if nothing was shuffled.

    Examples
    --------
    >>> events = pd.DataFrame({"is_replay": [True, False], "p": [0.01, 0.5]})
    >>> rate = Calibration(0.05, 0.0, 0.0, 0, ci_low=0.0, ci_high=1.8, n_exchanged=0)
    >>> replay_by_chance(events, rate)[-44:]
    'with chance: there is no evidence of replay.'
    """
    if calibration is None:
        return ""
    tested = events["p"].notna()
    n_replay, n_tested = int(events["is_replay"].sum()), int(tested.sum())
    share = ""
    if n_tested < len(events):
        verb = "was" if n_tested == 1 else "were"
        share = f"Of the {n_tested} that {verb} tested, {n_replay / max(n_tested, 1):.1%} are. "
    if "passes_by_chance" not in events:
        by_chance = round(calibration.false_positive_rate * len(events))
        # Of what the exchange gives, no more than there are candidate events are tested.
        times = max(calibration.n_exchanged / max(len(events), 1), 1.0)
        p = _one_sided(n_replay, round(by_chance / times), times / (1 + times))
        text = (
            f"{share}{passing_by_chance(calibration)} {n_replay} against {by_chance} in the same "
            f"time: p = {p:.2g} (exact binomial test, one-sided)."
        )
    else:
        own, chance = events["is_replay"], events["passes_by_chance"]
        only = int((own & ~chance)[tested].sum()), int((~own & chance)[tested].sum())
        p = _one_sided(*only)
        expected = calibration.false_positive_rate * n_tested
        text = (
            f"{share}{passing_by_chance(calibration)} About {expected:.0f} "
            f"{'is' if round(expected) == 1 else 'are'} expected by chance. {only[0]} "
            f"pass{'es' * (only[0] == 1)} with their own cells only, and {only[1]} with randomised "
            f"ones only: p = {p:.2g} (McNemar's exact test, one-sided)."
        )
    if p > _LEVEL:
        text += " This is compatible with chance: there is no evidence of replay."
    return text


def _one_sided(own: int, chance: int, share: float = 0.5) -> float:
    """Test whether chance alone would give `own` or more of so many, of each with this chance."""
    if not own + chance:
        return 1.0
    return float(stats.binomtest(own, own + chance, share, alternative="greater").pvalue)


def passing_by_chance(calibration: Calibration) -> str:
    """Say in a sentence how many events pass by chance.

    Examples
    --------
    >>> passing_by_chance(Calibration(0.05, 0.0, 0.0, 60, ci_low=0.0, ci_high=0.06))[:58]
    'Of the same events with randomised cells, 0.0% (95 %: 0.0%'
    """
    n = calibration.n_exchanged
    if np.isnan(n):
        return (
            f"Of the same events with randomised cells, {calibration.rate_in_words} pass the same "
            "tests, whether or not they visit a sequence."
        )
    return (
        f"After an exchange of cells, the same search finds {n:.0f} candidate "
        f"event{'s' * (n != 1)} in the same time; those that pass the same tests are "
        f"{calibration.rate_in_words} of the number of candidate events."
    )


def _by_chance(found: Conclusions) -> str:
    """List the rates at which events that represent places in no order pass."""
    if found.calibration is None:
        return "Without spikes, none can be simulated."
    rows = ["| in no order | simulated | pass | 95 % interval |", "|---|---|---|---|"]
    rows += [
        f"| {UNORDERED[str(row.null)]} | {row.n} | {row.rate:.1%} | {row.ci_low:.1%} to "
        f"{row.ci_high:.1%} |"
        for row in found.unordered.itertuples()
    ]
    return "\n".join(rows)


def enough_sequences(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the statistics of enough sequences to report and compare.

    Examples
    --------
    >>> found = pd.DataFrame({"statistic": ["reverse_share", "leads_away"], "n_chains": [4, 5]})
    >>> enough_sequences(found)["statistic"]
    1    leads_away
    Name: statistic, dtype: str
    """
    return statistics[statistics["n_chains"] >= LEAST_SEQUENCES]


def headings_told(events: pd.DataFrame, calibration: Calibration | None = None) -> str:
    """Say in how many replay events the heading is told; empty if there are none, or no headings.

    Examples
    --------
    >>> headings_told(pd.DataFrame({"is_replay": [True, True], "is_heading_told": [True, False]}))
    'The heading that cells represent is told in 1 of 2, which gives it a direction.'
    >>> headings_told(pd.DataFrame({"is_replay": [False], "is_heading_told": [False]}))
    ''
    """
    if "is_heading_told" not in events:
        return ""
    replay = events[events["is_replay"]]
    told = replay[replay["is_heading_told"]]
    if not len(replay):
        return ""
    text = f"The heading that cells represent is told in {len(told)} of {len(replay)}"
    if not len(told):
        return f"{text}."
    text += f", which gives {'it' if len(told) == 1 else 'them'} a direction."
    if calibration is None or np.isnan(calibration.heading_evidence):
        return text
    n_without = expected_without(told, calibration.heading_evidence)
    return (
        f"{text} By the evidence of their cells, about {n_without:.2g} of these represent no "
        "heading: an estimate, as no event here is known to have none."
    )


def _kinds_table(kinds: pd.DataFrame, size: float) -> str:
    rows = [
        "| kind of the longest sequence | events | share | 95 % interval |",
        "|---|---|---|---|",
    ]
    for row in kinds[kinds["state_size"] == size].itertuples():
        interval = f"{row.ci_low:.2f} to {row.ci_high:.2f}" if row.n_events else ""
        share = f"{row.share:.2f}" if row.n_events else ""
        rows.append(f"| {KIND_NAMES[str(row.kind)]} | {row.n} | {share} | {interval} |")
    return "\n".join(rows)


def _shares(table: pd.DataFrame) -> str:
    rows = [
        "| kind of the longest sequence | found | corrected | 95 % interval | recall |",
        "|---|---|---|---|---|",
    ]
    numbers = table.set_index("kind").astype(float)
    for kind, found, corrected, low, high, recall in numbers.itertuples():
        interval = "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"
        cells = (_number(found), _number(corrected), interval, _number(recall))
        rows.append(f"| {KIND_NAMES[str(kind)]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"


def _by_choice(choices: pd.DataFrame) -> str:
    names = list(KIND_NAMES)
    rows = [f"| | | {' | '.join(KIND_NAMES[name] for name in names)} |"]
    rows.append(f"|---|---|{'---|' * len(names)}")
    for (choice, value), own in choices.groupby(["choice", "value"], sort=False):
        shares = own.set_index("kind")["share"]
        cells = [_number(shares[name]) for name in names]
        rows.append(f"| {choice} | {value} | {' | '.join(cells)} |")
    return "\n".join(rows)


def statistics_table(table: pd.DataFrame) -> str:
    """Write the statistics of replay as a table in Markdown."""
    rows = ["| | | here | by chance | sequences | published |", "|---|---|---|---|---|---|"]
    columns = ["statistic", "label", "value", "ci_low", "ci_high", "null", "n_chains"]
    columns += ["published_low", "published_high", "sources"]
    for name, text, value, ci_low, ci_high, null, n, low, high, sources in (
        table[columns].to_numpy().tolist()
    ):
        numbers = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        published = "" if np.isnan(low) else f"{numbers} ({sources})"
        label = " ".join(str(text).split())
        here = with_interval(value, ci_low, ci_high)
        rows.append(f"| {name} | {label} | {here} | {_number(null)} | {n:.0f} | {published} |")
    return "\n".join(rows)


def accounts_table(table: pd.DataFrame) -> str:
    """Write the predictions of accounts as a table in Markdown."""
    if not len(table):
        return "There are no predictions for the statistics of this recording."
    rows = [
        "| | study | here | published | accounts, median | with the value here | of controls |",
        "|---|---|---|---|---|---|---|",
    ]
    by = ["statistic", "finding"]
    for (name, _), own in table.groupby(by, sort=False):
        row = own.iloc[0]
        is_account = ~own["is_control"].astype(bool)
        known = own["predicted"].notna()
        holds = (own["predicted_low"] <= own["value"]) & (own["value"] <= own["predicted_high"])
        medians = own.loc[is_account & known, "predicted"]
        span = "" if not len(medians) else f"{medians.min():.2f} to {medians.max():.2f}"
        shares = [
            f"{int((holds & each).sum())} of {int((known & each).sum())}"
            for each in (is_account, ~is_account)
        ]
        here = with_interval(row["value"], row["ci_low"], row["ci_high"])
        published = with_interval(row["published"], row["published_low"], row["published_high"])
        study = f"{row['source']} ({str(row['task']).replace('_', ' ')})"
        rows.append(f"| {name} | {study} | {here} | {published} | {span} | {' | '.join(shares)} |")
    return "\n".join(rows)


def with_interval(value: float, low: float, high: float) -> str:
    """Write a number with its interval, if it has one.

    Examples
    --------
    >>> with_interval(0.5, 0.25, 0.75), with_interval(0.5, np.nan, np.nan)
    ('0.50 (0.25 to 0.75)', '0.50')
    """
    return _number(value) + ("" if np.isnan(low) else f" ({low:.2f} to {high:.2f})")


def _criteria(settings: Settings, judgement: Judgement) -> Iterable[tuple[str, object]]:
    for values in (settings, settings.criteria, judgement, judgement.detection):
        for name, value in values._asdict().items():
            if not hasattr(value, "_asdict"):
                yield name, value


def _listed(pairs: Iterable[tuple[str, object]]) -> str:
    return "\n".join(f"- {in_markdown(name)}: {in_markdown(str(value))}" for name, value in pairs)
