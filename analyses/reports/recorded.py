"""Recorded replay in sentences and in tables: what was found, and how much of it is chance."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import LEAST_UNITS, wilson_interval
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.decide.epochs import AS_CHOSEN
from analyses.recordings.prepare.travel_events import N_SEARCHES
from analyses.reports.text import agree, interval, markdown, number, plural, rows_of, with_interval
from analyses.tables import KINDS

LEAST_SEQUENCES = 5
"""The least number of sequences of a statistic that is reported and compared."""

KIND_NAMES = {
    "reverse_episode": "reverse replay of an episode",
    "forward_episode": "forward replay of an episode",
    "novel_path": "a novel path",
    "ambiguous": "ambiguous",
    "unexperienced": "unexperienced",
    "no_sequence": "no sequence",
}
"""The names of the kinds of events in reports."""

_LEVEL, _TAIL = 0.05, 0.2  # of a test, and of the share of events that would be false
_WORDS = {
    "state size": "a state size of",
    "lap ends": "laps that end",
    "sequences": "sequences of at least",
    "jumps": "jumps of at most",
    "level": "a level of",
}
"""How the choices of `shares_by_choice` begin."""


def count_replay(events: pd.DataFrame, calibration: Calibration | None = None) -> str:
    """Say in a sentence how many events hold replay, of which kinds, and how many by chance."""
    n, total = int(events["is_replay"].sum()), len(events)
    low, high = wilson_interval(n / max(total, 1), total)
    text = f"Of {plural(total, 'event')} {n} {agree(n, 'holds', 'hold')} replay"
    if total and not n:
        text = f"No replay was found: none of {plural(total, 'event')} holds any"
    elif calibration is not None and (p := _by_chance(events, calibration)[0]) > _LEVEL:
        text = f"No more replay than by chance (p = {p:.2g}): {text[0].lower()}{text[1:]}"
    text += f" ({n / total:.0%}; 95 % interval {low:.0%} to {high:.0%})" if total else ""
    if calibration is not None:
        n_tested = int(events["evidence"].notna().sum())
        of = total if not np.isnan(calibration.n_exchanged) else n_tested
        # Rounded as in the tables, so that figures that are made from these have the same numbers.
        expected = round(calibration.false_positive_rate * of, 9)
        of_worst = round(calibration.worst_rate * n_tested, 9)
        text += (
            f", {expected:.2g} expected by chance ({of_worst:.2g} if all were like the worst "
            f"control, {calibration.worst.replace('_', ' ')})"
        )
    if not n:
        return f"{text}."
    counts = events.loc[events["is_replay"], "kind"].value_counts()
    names = {"forward_episode": "forward", "reverse_episode": "reverse", "novel_path": "novel"}
    names |= {str(kind): str(kind) for kind in ("ambiguous", *counts.index) if kind not in names}
    known = [f"{counts.get(kind, 0)} {name}" for kind, name in names.items()]
    why = events.loc[events["is_replay"], "why"] if "why" in events else pd.Series(dtype=object)
    reasons = "; ".join(f"{count} {each}" for each, count in why.value_counts().items())
    return f"{text}: {', '.join(known)}{f' ({reasons})' * bool(reasons)}."


def replay_by_chance(events: pd.DataFrame, calibration: Calibration | None, n_shuffles: int) -> str:
    """Describe three levels, content, replay and kind, and what chance gives; or nothing.

    Each event was compared with `n_shuffles` exchanges of its cells.
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
    passing = f"of the same events with exchanged cells {rate_in_words(calibration)} do."
    if not np.isnan(calibration.n_exchanged):
        n_found = plural(round(calibration.n_exchanged), "event")
        passing = (
            f"after an exchange of cells, the same search finds {n_found} in the same time, and "
            f"those that travel are {rate_in_words(calibration)} of the number of events."
        )
    p, test = _by_chance(events, calibration)
    least = round(1 / _LEVEL) - 1
    content = (
        f"Content: {n_content} of {n_tested} tested events represent places more than all but "
        f"{_LEVEL:.0%} of their own exchanges of cells ({_LEVEL * n_tested:.2g} expected, "
        f"p = {p_content:.2g})."
    )
    if n_shuffles < least:  # so that no event could
        content = (
            f"Content: not tested, since {n_shuffles} exchanges of cells are too few for "
            f"{_LEVEL:.0%}; {least} are enough (--shuffles {least}; in Python, "
            f"Judgement(n_shuffles={least}))."
        )
    text = (
        f"{content} Replay: {n_replay} travel along the track; {passing} "
        f"{tails[0]} have a tail rate of at most {_TAIL:g} against exchanged cells, and {tails[1]} "
        "against the worst control. The tail rate is the share of events with as much evidence "
        "that would be false, if all events were of that control. "
        f"Kind: {n_told} of {n_replay} have a direction, or are novel. That chance "
        f"gives as much replay has p = {p:.2g} ({test})."
    )
    if p <= _LEVEL:
        return text
    if p_content <= _LEVEL:
        return (
            f"{text} So many are compatible with chance, but the events represent places: what is "
            "there is content that does not travel, or too few spikes to tell."
        )
    if n_shuffles < least:
        return f"{text} So many are compatible with chance."
    return f"{text} This is compatible with chance: there is no evidence of replay."


def _by_chance(events: pd.DataFrame, calibration: Calibration) -> tuple[float, str]:
    """Compute how probable as much replay is by chance, and name the test."""
    n_tested, n_replay = int(events["evidence"].notna().sum()), int(events["is_replay"].sum())
    n_controls, rate = calibration.n_events, calibration.false_positive_rate
    n_found = calibration.n_exchanged
    if np.isnan(n_found):
        n_reach = round(rate * n_controls)
        table = [[n_replay, n_tested - n_replay], [n_reach, n_controls - n_reach]]
        p = stats.fisher_exact(table, alternative="greater").pvalue
        return float(p), "Fisher's exact test, one-sided"
    # Both are counts, the controls those of so many times the time.
    times = n_controls / n_found if n_found else N_SEARCHES
    n_reach = round(rate * len(events) * times)
    n_both = max(n_replay + n_reach, 1)
    p = stats.binomtest(n_replay, n_both, 1 / (1 + times), alternative="greater").pvalue
    return float(p), "exact binomial test, one-sided"


def rate_in_words(calibration: Calibration) -> str:
    """Write the false-positive rate with its interval.

    Examples
    --------
    >>> rate_in_words(Calibration(1.5, 0.0, 0.0, 0.06, 60, "sweeps", 0.04))
    '0.0% (95 %: 0.0% to 6.0%)'
    """
    low, high = calibration.ci_low, calibration.ci_high
    return f"{calibration.false_positive_rate:.1%} (95 %: {low:.1%} to {high:.1%})"


def describe_rates(calibrations: Iterable[Calibration | None]) -> str:
    """Say what the false-positive rates of animals are; empty if there are none."""
    known = [each for each in calibrations if each is not None]
    if not known:
        return ""
    if np.isnan(known[0].n_exchanged):
        return (
            "The false-positive rate is the share of the same events, with exchanged cells, that "
            "have as much evidence as replay."
        )
    return (
        "The false-positive rate is the number of events that the same search finds in the same "
        "time after an exchange of cells, and that pass, divided by the number of candidate events."
    )


def describe_dependence(table: pd.DataFrame) -> str:
    """Say in a sentence which choices change shares by more than their intervals; or nothing.

    Shares differ by more than their intervals if neither lies in the interval of the other. For
    each choice, the largest of these differences is told.
    """
    table = table[table["kind"].isin(KINDS)]  # the rest follows from them
    own = table[table["choice"] == AS_CHOSEN].set_index("kind")
    others = table[table["choice"] != AS_CHOSEN].join(
        own[["share", "ci_low", "ci_high"]].add_suffix("_own"), on="kind"
    )
    within = others["share"].between(others["ci_low_own"], others["ci_high_own"])
    within |= others["share_own"].between(others["ci_low"], others["ci_high"])
    others = others[~within & others["share"].notna() & others["share_own"].notna()]
    others = others.assign(change=(others["share"] - others["share_own"]).abs())
    others = others.sort_values("change", ascending=False, kind="stable").drop_duplicates("choice")
    if not len(others):
        return ""
    parts = [
        f"with {_WORDS[row.choice]} {row.value}, the share of "
        f"{row.kind.replace('_', ' ')} is {row.share:.2f} instead of "
        f"{row.share_own:.2f} ({row.ci_low_own:.2f} to {row.ci_high_own:.2f})"
        for row in rows_of(others)
    ]
    return f"Shares depend on choices by more than their intervals: {'; '.join(parts)}."


def describe_dependence_of_animals(choices: pd.DataFrame) -> str:
    """Say in a sentence whose shares depend on choices by more than their intervals; or nothing."""
    names = [
        str(name) for name, own in choices.groupby("animal", sort=False) if describe_dependence(own)
    ]
    if not names:
        return ""
    return (
        f"Shares of {', '.join(names)} depend on choices by more than their intervals; the report "
        "of each says on which."
    )


def intervals_over(n: int) -> str:
    """Say what intervals over so many animals are, or why there are none."""
    if n < LEAST_UNITS:
        return (
            f"There are no intervals over animals: fewer than {LEAST_UNITS} say too little of how "
            "others may differ."
        )
    return (
        f"Intervals (95 %) are over {n} animals, however many events each has: of shares, Wilson's "
        "for as many independent events as would vary like these animals; of other values, "
        f"Student's t. What fewer than {LEAST_UNITS} animals have gets none."
    )


def funnel(events: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """Count the events that pass each control alone: `control, n_events, share, controls`.

    `controls` is the share of the control that has as much evidence as replay.
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


def stretches_of_kinds(stretches: pd.DataFrame, sequences: pd.DataFrame) -> pd.DataFrame:
    """Describe the stretches of replay of each kind, as papers print them.

    Returns `kind, stretches` (their number), and the median with quartiles of `length (cm)`,
    `duration (ms)`, `speed (m/s)`, `weighted correlation` and `share of the event`, as text.
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
    for kind, name in KIND_NAMES.items():
        is_kind = own["kind"] == kind
        if not is_kind.any():
            continue
        row: dict[str, object] = {"kind": name, "stretches": is_kind.sum()}
        for measure, column in values[is_kind].items():
            digits = 0 if measure in ("length (cm)", "duration (ms)") else 2
            low, middle, high = column.quantile([0.25, 0.5, 0.75])
            row[str(measure)] = (
                "" if np.isnan(middle)
                else f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
            )  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows, columns=["kind", "stretches", *values])


def enough_sequences(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the statistics of enough sequences to report and compare."""
    return statistics[statistics["n_chains"] >= LEAST_SEQUENCES]


def statistics_table(table: pd.DataFrame) -> str:
    """Write the statistics of replay as a table in Markdown."""
    if not len(table):
        return "There are none of enough sequences."
    rows = []
    for own in rows_of(table):
        # A single published value is no range.
        low, high = own.published_low, own.published_high
        values = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        published = "" if np.isnan(low) else f"{values} ({own.sources})"
        here = with_interval(own.value, own.ci_low, own.ci_high)
        label = " ".join(str(own.label).split())
        chance, n = number(own.null), f"{own.n_chains:.0f}"
        rows.append((own.statistic, label, here, chance, n, published))
    return markdown(("", "", "here", "by chance", "sequences", "published"), rows)


def accounts_table(table: pd.DataFrame) -> str:
    """Write the predictions of accounts as a table in Markdown."""
    if not len(table):
        return "There are no predictions for the statistics of this recording."
    rows = []
    for (name, _), own in table.groupby(["statistic", "finding"], sort=False):
        row = own.iloc[0]
        is_account = ~own["is_control"].astype(bool)
        known = own["predicted"].notna()
        holds = (own["predicted_low"] <= own["value"]) & (own["value"] <= own["predicted_high"])
        medians = own.loc[is_account & known, "predicted"]
        rows.append(
            (
                name,
                f"{row['source']} ({str(row['task']).replace('_', ' ')})",
                with_interval(row["value"], row["ci_low"], row["ci_high"]),
                with_interval(row["published"], row["published_low"], row["published_high"]),
                interval(medians.min(), medians.max()),
                *(
                    f"{int((holds & each).sum())} of {int((known & each).sum())}"
                    for each in (is_account, ~is_account)
                ),
            )
        )
    header = ("", "study", "here", "published", "accounts, median", "with the value here")
    return markdown((*header, "of controls"), rows)
