"""The report on a recording, and that on several animals of one experiment; with their epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from analyses.intervals import LEAST_UNITS
from analyses.recordings.basics.settings import RUN, Judgement
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.controls import CONTROLS
from analyses.reports.preparation import describe_pauses, explanations_of, notes_of
from analyses.reports.recorded import (
    KIND_NAMES,
    LEAST_SEQUENCES,
    accounts_table,
    count_replay,
    describe_dependence,
    describe_dependence_of_animals,
    describe_rates,
    enough_sequences,
    funnel,
    intervals_over,
    rate_in_words,
    replay_by_chance,
    statistics_table,
    stretches_of_kinds,
)
from analyses.reports.text import (
    cells_in_markdown,
    in_markdown,
    interval,
    listed,
    markdown,
    number,
    rows_of,
    with_interval,
)
from analyses.tables import KINDS

BESIDE_ACCOUNTS = (
    "The predictions of accounts of replay for the same statistics are for the maze, the laps and "
    "the criteria of detection of the study that is named, not for this recording: values may "
    "differ for this reason, or because of too few cells. The table has the number of accounts, "
    "and of controls without learning, for which the value here lies within the range of 90 % of "
    "their simulated studies. This is neither a test nor a likelihood."
)
"""The caveat that must accompany predictions beside the statistics of a recording."""

COUNTED = {
    "candidates_per_minute": "candidate events per minute",
    "replay_per_minute": "replay events per minute",
    "replay_share": "share of candidate events that are replay",
    **{kind: f"share of replay events: {kind.replace('_', ' ')}" for kind in KINDS},
}
"""What is counted in epochs, beside the statistics of replay -> its name."""

_LEVEL = 0.05

_ABOUT_CONTROLS = """Controls have as many spikes and time bins as the events, but no replay. An \
event passes a control alone if it has more evidence for travel than all but {level:.0%} of that \
control. Replay has to pass all of them."""

_ABOUT_INTERVALS = """Intervals are 95 % Wilson intervals over the events of this recording. \
Events of one animal are similar, so the intervals do not generalise to other animals."""

_ABOUT_CHOICES = """One choice at a time is changed: the size of states, the nodes where laps end, \
the least length of a sequence, its largest jump, and the share of each control that may pass."""

_ABOUT_STATISTICS = f"""Statistics count replay in pauses before and after laps, or at rest where \
their names say so; replay within laps counts in none. So they differ from the shares of all \
events above. Those that need more than the track and the laps are missing, unless the track has \
the landmarks that they need, and so are those of fewer than {LEAST_SEQUENCES} sequences \
(statistics.csv has them)."""

_KIND = "kind of the longest sequence"


def report_of_animal(
    found: Conclusions,
    tables: Mapping[str, pd.DataFrame],
    about_shares: str,
    left_out: Sequence[str],
    more: str,
) -> str:
    """Write the report on a recording in Markdown.

    `tables` are those of the animal by file name, `left_out` says which statistics are and why, and
    `more` is one more line about what was done.
    """
    session, judgement = found.session, found.session.judgement
    settings = (session.settings, session.settings.criteria, judgement, judgement.detection)
    choices, statistics, accounts = (
        cells_in_markdown(tables[f"{name}.csv"]) for name in ("choices", "statistics", "accounts")
    )
    explained = [replay_by_chance(found.events, found.calibration, judgement.n_shuffles)]
    explained += map(in_markdown, explanations_of(found))
    stretches = stretches_of_kinds(found.stretches, found.sequences)
    text = [
        f"# Replay in {in_markdown(session.recording.name)}",
        in_markdown(describe_pauses(session)) if session.prepared.are_ends_proposed else "",
        describe_dependence(choices),
        "## What was read and done",
        "\n".join(filter(None, [listed(notes_of(found)), f"- {more}" if more else ""])),
        "## What was found",
        count_replay(found.events, found.calibration),
        " ".join(filter(None, explained)),
        "## How many events pass each control",
        _ABOUT_CONTROLS.format(level=judgement.level),
        _controls(found),
        "## Stretches and kinds",
        "Replay is a stretch within an event. Medians, with quartiles:",
        markdown([*stretches], stretches.to_numpy().tolist()) if len(stretches) else
        "There is none.",
        _kinds(found.kinds[found.kinds["state_size"] == judgement.state_size]),
        _ABOUT_INTERVALS,
        "## Shares corrected for what this recording misses",
        _shares(tables["shares.csv"]),
        about_shares,
        "## Dependence of shares on choices",
        _ABOUT_CHOICES,
        _choices(choices),
        *describe_epochs(tables, len(found.events)),
        "## Statistics",
        f"{_ABOUT_STATISTICS} Those of order and of rates are left out: {'; and '.join(left_out)}.",
        statistics_table(enough_sequences(statistics)),
        "## Predictions of accounts of replay",
        BESIDE_ACCOUNTS,
        accounts_table(accounts),
        "## Criteria",
        "\n".join(
            f"- {in_markdown(name)}: {in_markdown(str(value))}"
            for name, value in chain(*(each._asdict().items() for each in settings))
            if not hasattr(value, "_asdict")  # which has lines of its own
        ),
        "## Origin of the data" if session.recording.origin else "",
        "\n".join(
            f"- {in_markdown(name)}: {in_markdown(str(value))}"
            for name, value in session.recording.origin.items()
        ),
    ]  # fmt: skip
    return "\n\n".join(filter(None, text)) + "\n"


def _controls(found: Conclusions) -> str:
    if found.calibration is None:
        return "Without spikes, there are no controls."
    passing = funnel(found.events, found.controls)
    rows = [
        (
            CONTROLS[str(own.control)],
            f"{own.n_events} ({own.share:.0%})",
            control.n,
            f"{control.rate:.1%} (95 %: {control.ci_low:.1%} to {control.ci_high:.1%})",
        )
        for own, control in zip(rows_of(passing), rows_of(found.controls), strict=True)
    ]
    evidence, n_replay = found.events["evidence"].dropna(), found.events["is_replay"].sum()
    n = int((evidence >= found.calibration.least_evidence).sum())
    rows.append(("all of them", f"{n} ({n / len(evidence):.0%})", "", ""))
    rows.append(("all of them, with a stretch of travel and a sequence", f"{n_replay}", "", ""))
    header = ("control", "events that pass", "number of controls", "of these as much as replay")
    return markdown(header, rows)


def _kinds(kinds: pd.DataFrame) -> str:
    rows = [
        (
            KIND_NAMES[str(row.kind)],
            row.n,
            # Without an event of replay, there is neither a share nor an interval.
            f"{row.share:.2f}" if row.n_events else "",
            f"{row.ci_low:.2f} to {row.ci_high:.2f}" if row.n_events else "",
        )
        for row in rows_of(kinds)
    ]
    return markdown((_KIND, "events", "share", "95 % interval"), rows)


def _shares(table: pd.DataFrame) -> str:
    numbers = table.set_index("kind").astype(float)
    rows = [
        (KIND_NAMES[str(kind)], number(found), number(corrected), interval(low, high), number(seen))
        for kind, found, corrected, low, high, seen in rows_of(numbers)
    ]
    return markdown((_KIND, "found", "corrected", "95 % interval", "recall"), rows)


def _choices(choices: pd.DataFrame) -> str:
    rows = []
    for (choice, value), own in choices.groupby(["choice", "value"], sort=False):
        shares = own.set_index("kind")["share"]
        rows.append((choice, value, *(number(shares[name]) for name in KIND_NAMES)))
    return markdown(("", "", *KIND_NAMES.values()), rows)


def report_of_animals(
    animals: Mapping[str, Conclusions], tables: Mapping[str, pd.DataFrame], judgement: Judgement
) -> str:
    """Write the report on several animals in Markdown."""
    n = len(animals)
    choices, statistics, accounts = (
        cells_in_markdown(tables[f"{name}.csv"])
        for name in ("choices", "statistics_of_all", "accounts")
    )
    of_each = []
    for name, found in animals.items():
        rate = "unknown" if found.calibration is None else rate_in_words(found.calibration)
        n_laps = found.experience.steps["episode"].nunique()
        told = count_replay(found.events, found.calibration)
        of_each.append((in_markdown(name), n_laps, told, rate))
    kinds = tables["kinds_of_all.csv"]
    kinds = kinds[kinds["state_size"] == judgement.state_size].set_index("kind")
    kinds = kinds[["share", "ci_low", "ci_high", "n_animals"]]
    of_kinds = [
        (KIND_NAMES[str(kind)], with_interval(share, low, high), f"{n_animals:.0f}")
        for kind, share, low, high, n_animals in rows_of(kinds.astype(float))
    ]
    of_shares = [
        (
            KIND_NAMES[str(row.kind)],
            with_interval(row.found, row.ci_low_found, row.ci_high_found),
            int(row.n_found),
            with_interval(row.corrected, row.ci_low_corrected, row.ci_high_corrected),
            int(row.n_corrected),
        )
        for row in rows_of(tables["shares_of_all.csv"])
    ]
    text = [
        f"# Replay in {n} animals",
        describe_dependence_of_animals(choices),
        f"Each animal also has its own report. {intervals_over(n)}",
        "## Each animal",
        markdown(("animal", "laps", "what was found", "false-positive rate"), of_each),
        describe_rates(each.calibration for each in animals.values()),
        listed(
            f"{name}: {note}" for name, each in animals.items() for note in explanations_of(each)
        ),
        "## What was found",
        markdown((_KIND, "share (95 %)", "animals"), of_kinds),
        "## Shares corrected for what these recordings miss",
        markdown((_KIND, "found", "animals", "corrected", "animals"), of_shares),
        *_describe_epochs_of_all(tables),
        "## Statistics",
        "Statistics are of replay at rest and at the ends of laps, and are means over the animals "
        f"that have at least {LEAST_SEQUENCES} of the sequences; statistics.csv has all animals.",
        statistics_table(statistics),
        "## Predictions of accounts of replay",
        BESIDE_ACCOUNTS,
        accounts_table(accounts),
    ]
    return "\n\n".join(filter(None, text)) + "\n"


def describe_epochs(tables: Mapping[str, pd.DataFrame], n_events: int) -> list[str]:
    """Write the section of one animal, in Markdown; empty without epochs."""
    if "epochs.csv" not in tables:
        return []
    table, blocks = tables["epochs.csv"], tables["epoch_blocks.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    table = table[table["measure"].isin([*COUNTED]) | (table["n"] >= LEAST_SEQUENCES)]
    counted = blocks.groupby("epoch", sort=False)["candidates"].sum()
    outside = n_events - int(counted.sum())
    seconds = (blocks["end_time"] - blocks["start_time"]).median()
    rows = []
    for measure, own in table.groupby("measure", sort=False):
        written = {}
        for row in rows_of(own):
            of = f" of {row.total:.0f}" if measure == "replay_share" else ""
            chance = "" if np.isnan(row.null) else f"; by chance {row.null:.2f}"
            value = with_interval(row.value, row.ci_low, row.ci_high)
            written[row.epoch] = value and f"{value}, n = {row.n}{of}{chance}"
        # Statistics have a name that is looked up in findings; counts have none.
        mark = "" if measure in COUNTED else f"{measure}: "
        rows.append([f"{mark}{own['label'].iloc[0]}", *(written.get(name, "") for name in names)])
    text = [
        "## Epochs",
        "Events count in the epoch in which they begin"
        + (f"; {outside} of {n_events} begin outside of all epochs" if outside else "")
        + ". Kinds are judged by what the animal had run before the event, so that before its "
        "first lap every path is one that it never ran."
        + "".join(
            f" No candidate event begins in {in_markdown(name)}, so that it has no shares."
            for name in counted.index[counted == 0]
        ),
        markdown(["", *map(in_markdown, names)], rows),
        f"Intervals are over blocks of about {seconds:.0f} s, because events of one animal come in "
        "groups. Minutes are those of the epoch, whether the animal rests or runs.",
    ]
    differences = tables["epoch_differences.csv"]
    if not len(differences):
        return [*text, f"No two epochs other than {RUN!r} were given, so none are compared."]
    n_blocks = blocks["epoch"].value_counts()
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += _differences(one, other, own)
        n_one, n_other = n_blocks[str(one)], n_blocks[str(other)]
        n_tests = own["p"].notna().sum()
        text.append(
            f"p is that of a permutation of {n_one} and {n_other} blocks, which holds if what "
            f"makes events alike lasts less than a block. There are {n_tests} tests: by "
            f"Bonferroni's rule, only p <= {_LEVEL / n_tests:.2g} is below .05 for all. Other "
            "animals are needed to say more than about these epochs."
            if n_tests
            else f"Nothing was tested: a test needs four blocks in each epoch (here {n_one} and "
            f"{n_other}) and events in both."
        )
    return text


def _differences(one: object, other: object, own: pd.DataFrame) -> tuple[str, str]:
    rows = [
        (
            row.label,
            "" if np.isnan(row.difference) else f"{row.difference:+.2f}",
            interval(row.ci_low, row.ci_high),
            "" if np.isnan(row.p) else f"{row.p:.2g}",
        )
        for row in rows_of(own)
    ]
    title = f"### From {in_markdown(str(one))} to {in_markdown(str(other))}"
    return title, markdown(("", "difference", "95 % interval", "p"), rows)


def _describe_epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Write the section of several animals, in Markdown; empty without epochs."""
    if "epochs_of_all.csv" not in tables:
        return []
    table = tables["epochs_of_all.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    rows = []
    for _, own in table[table["measure"].isin([*COUNTED])].groupby("measure", sort=False):
        numbers = own.set_index("epoch")[["value", "ci_low", "ci_high"]].astype(float)
        written = {name: with_interval(*row) for name, *row in rows_of(numbers)}
        rows.append([own["label"].iloc[0], *(written.get(name, "") for name in names)])
    text = ["## Epochs", markdown(["", *map(in_markdown, names)], rows)]
    differences = tables["epoch_differences_of_all.csv"]
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += _differences(one, other, own)
    if len(differences):
        text.append(
            "Means and intervals are over animals, and p is that of Student's t test of the "
            f"differences of animals against zero, with at least {LEAST_UNITS} animals. There are "
            f"{int(differences['p'].notna().sum())} tests, for which p is not corrected."
        )
    return text
