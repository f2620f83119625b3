"""The report on a recording: data, criteria, results and caveats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import wilson_interval
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.choices import describe_dependence
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.controls import CONTROLS
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.travel_events import N_SEARCHES
from analyses.recordings.recover.shares import RecordedShares
from analyses.studies.recorded_replay.statistics import LEFT_OUT

__all__ = ["BESIDE_ACCOUNTS", "KIND_NAMES", "LEAST_SEQUENCES", "accounts_table"]
__all__ += ["cells_in_markdown", "count_replay", "enough_sequences", "funnel", "in_markdown"]
__all__ += ["replay_by_chance", "statistics_table", "stretches_of_kinds", "with_interval"]
__all__ += ["write_report"]

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

_LEVEL, _TAIL = 0.05, 0.2
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
        count_replay(found.events, found.calibration),
        " ".join(
            filter(
                None,
                [
                    replay_by_chance(found.events, found.calibration),
                    *map(in_markdown, found.explanations),
                ],
            )
        ),
        "## How many events pass each control",
        "Controls have as many spikes and time bins as the events, but no replay. An event passes "
        f"a control alone if it has more evidence for travel than all but {judgement.level:.0%} of "
        "that control. Replay has to pass all of them.",
        _funnel_table(found),
        "## Stretches and kinds",
        "Replay is a stretch within an event. Medians, with quartiles:",
        _markdown(stretches_of_kinds(found.stretches, found.sequences)),
        _kinds_table(found.kinds, judgement.state_size),
        "Intervals are 95 % Wilson intervals over the events of this recording. Events of one "
        "animal are similar, so the intervals do not generalise to other animals.",
        "## Shares corrected for what this recording misses",
        _shares(shares.table),
        shares.note,
        "## Dependence of shares on choices",
        "One choice at a time is changed: the size of states, the nodes where laps end, the least "
        "length of a sequence, its largest jump, and the share of each control that may pass.",
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


def count_replay(events: pd.DataFrame, calibration: Calibration | None = None) -> str:
    """Say in a sentence how many events hold replay, of which kinds, and how many would by chance.

    Examples
    --------
    >>> events = pd.DataFrame({"is_replay": [True, False], "kind": ["novel_path", None]})
    >>> count_replay(events)
    'Of 2 events 1 holds replay (95 %: 9% to 91%): 0 forward, 0 reverse, 1 novel, 0 undecided.'
    """
    n, number = int(events["is_replay"].sum()), len(events)
    low, high = wilson_interval(n / max(number, 1), number)
    text = f"Of {number} event{'s' * (number != 1)} {n} hold{'s' * (n == 1)} replay"
    text += f" (95 %: {low:.0%} to {high:.0%})" if number else ""
    if calibration is not None:
        n_tested = int(events["evidence"].notna().sum())
        of = number if not np.isnan(calibration.n_exchanged) else n_tested
        text += (
            f", {calibration.false_positive_rate * of:.2g} expected by chance "
            f"({calibration.worst_rate * n_tested:.2g} if all were like the worst control, "
            f"{calibration.worst.replace('_', ' ')})"
        )
    counts = events.loc[events["is_replay"], "kind"].value_counts()
    names = {"forward_episode": "forward", "reverse_episode": "reverse", "novel_path": "novel"}
    known = [f"{counts.get(kind, 0)} {name}" for kind, name in names.items()]
    rest = n - int(counts.reindex([*names], fill_value=0).sum())
    return f"{text}: {', '.join(known)}, {rest} undecided."


def replay_by_chance(events: pd.DataFrame, calibration: Calibration | None) -> str:
    """Describe three levels, content, replay and kind, and what chance gives; or nothing.

    Examples
    --------
    >>> events = pd.DataFrame({"is_replay": [False] * 9, "evidence": 1.0, "p_content": 0.5,
    ...                        "tail_exchanged": 1.0, "tail_worst": 1.0, "kind": None})
    >>> rate = Calibration(2.0, 0.0, 0.0, 0.06, 60, "sweeps", 0.04)
    >>> replay_by_chance(events, rate)[-44:]
    'with chance: there is no evidence of replay.'
    """
    if calibration is None:
        return ""
    tested = events[events["evidence"].notna()]
    n_tested, n_replay = len(tested), int(events["is_replay"].sum())
    n_content = int((tested["p_content"] <= _LEVEL).sum())
    p_content = stats.binomtest(n_content, n_tested, _LEVEL, alternative="greater").pvalue
    is_told = events["kind"].isin(["forward_episode", "reverse_episode", "novel_path"])
    n_told = int((is_told & events["is_replay"]).sum())
    tails = [int((tested[name] <= _TAIL).sum()) for name in ("tail_exchanged", "tail_worst")]
    text = (
        f"Content: {n_content} of {n_tested} tested events represent places more than all but "
        f"{_LEVEL:.0%} of their own exchanges of cells ({_LEVEL * n_tested:.2g} expected, "
        f"p = {p_content:.2g}). Replay: {n_replay} travel along the track; {_passing(calibration)} "
        f"{tails[0]} have a tail rate of at most {_TAIL:g} against exchanged cells, and {tails[1]} "
        "against the worst control: so large a share of them would be false if all events were of "
        f"that control. Kind: {n_told} of {n_replay} have a direction, or are novel."
    )
    n_controls, rate = calibration.n_events, calibration.false_positive_rate
    if np.isnan(calibration.n_exchanged):
        n_reach = round(rate * n_controls)
        table = [[n_replay, n_tested - n_replay], [n_reach, n_controls - n_reach]]
        p = stats.fisher_exact(table, alternative="greater").pvalue
        test = "Fisher's exact test, one-sided"
    else:  # both are counts, the controls those of so many times the time
        times = n_controls / calibration.n_exchanged if calibration.n_exchanged else N_SEARCHES
        n_reach = round(rate * len(events) * times)
        p = stats.binomtest(
            n_replay, max(n_replay + n_reach, 1), 1 / (1 + times), alternative="greater"
        ).pvalue
        test = "exact binomial test, one-sided"
    text += f" That chance gives as much replay has p = {p:.2g} ({test})."
    if p <= _LEVEL:
        return text
    if p_content <= _LEVEL:
        return (
            f"{text} So many are compatible with chance, but the events represent places: what is "
            "there is content that does not travel, or too few spikes to tell."
        )
    return f"{text} This is compatible with chance: there is no evidence of replay."


def _passing(calibration: Calibration) -> str:
    """Say in a sentence how many events pass by chance."""
    n = calibration.n_exchanged
    if np.isnan(n):
        return f"of the same events with exchanged cells {calibration.rate_in_words} do."
    return (
        f"after an exchange of cells, the same search finds {n:.0f} event{'s' * (n != 1)} in the "
        f"same time, and those that travel are {calibration.rate_in_words} of the number of events."
    )


def funnel(events: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """Count the events that pass each control alone: `control, n_events, share, controls`.

    `controls` is the share of the control that has as much evidence as replay.

    Examples
    --------
    >>> controls = pd.DataFrame({"control": ["sweeps"], "least_evidence": [2.0], "rate": [0.04]})
    >>> funnel(pd.DataFrame({"evidence": [1.0, 3.0]}), controls).values.tolist()
    [['sweeps', 1, 0.5, 0.04]]
    """
    n = [int((events["evidence"] >= least).sum()) for least in controls["least_evidence"]]
    return pd.DataFrame(
        {
            "control": controls["control"],
            "n_events": n,
            "share": np.array(n, dtype=float) / max(int(events["evidence"].notna().sum()), 1),
            "controls": controls["rate"],
        }
    )


def _funnel_table(found: Conclusions) -> str:
    if found.calibration is None:
        return "Without spikes, there are no controls."
    rows = ["| control | events that pass | number of controls | of these as much as replay |"]
    rows.append("|---|---|---|---|")
    passing = funnel(found.events, found.controls)
    for own, control in zip(passing.itertuples(), found.controls.itertuples(), strict=True):
        rows.append(
            f"| {CONTROLS[str(own.control)]} | {own.n_events} ({own.share:.0%}) | {control.n} | "
            f"{control.rate:.1%} (95 %: {control.ci_low:.1%} to {control.ci_high:.1%}) |"
        )
    return "\n".join([*rows, f"| all of them | {int(found.events['is_replay'].sum())} | | |"])


def stretches_of_kinds(stretches: pd.DataFrame, sequences: pd.DataFrame) -> pd.DataFrame:
    """Describe the stretches of replay of each kind, as papers print them.

    Returns `kind, stretches` (their number), and the median with quartiles of `length (cm)`,
    `duration (ms)`, `speed (m/s)`, `weighted correlation` and `share of the event`, as text.

    Examples
    --------
    >>> stretch = {"event": 0, "stretch": 0, "start_time": 1.0, "end_time": 1.2, "share": 0.5,
    ...            "length": 80.0, "speed": 400.0, "weighted_correlation": 0.75}
    >>> sequence = {"event": 0, "stretch": 0, "distance": 80.0, "kind": "novel_path"}
    >>> table = stretches_of_kinds(pd.DataFrame([stretch]), pd.DataFrame([sequence]))
    >>> table[["kind", "duration (ms)"]].values.tolist()
    [['a novel path', '200 (200 to 200)']]
    """
    longest = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = longest.drop_duplicates(["event", "stretch"])[["event", "stretch", "kind"]]
    own = stretches.merge(longest, on=["event", "stretch"])
    values = pd.DataFrame(
        {
            "length (cm)": own["length"],
            "duration (ms)": 1000 * (own["end_time"] - own["start_time"]),
            "speed (m/s)": own["speed"] / 100,
            "weighted correlation": own["weighted_correlation"],
            "share of the event": own["share"],
        },
        dtype=float,
    )
    rows = []
    for kind in (each for each in KIND_NAMES if (own["kind"] == each).any()):
        row: dict[str, object] = {
            "kind": KIND_NAMES[kind],
            "stretches": (own["kind"] == kind).sum(),
        }
        for name, column in values[own["kind"] == kind].items():
            digits = 0 if name in ("length (cm)", "duration (ms)") else 2
            low, middle, high = column.quantile([0.25, 0.5, 0.75])
            row[str(name)] = (
                "" if np.isnan(middle)
                else f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
            )  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows, columns=["kind", "stretches", *values])


def _markdown(table: pd.DataFrame) -> str:
    """Write a table in Markdown."""
    if not len(table):
        return "There is none."
    lines = [[*map(str, table.columns)], ["---"] * len(table.columns)]
    lines += [[*map(str, row)] for row in table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
