"""Replay in recordings: its events are tested in blocks; then tables, reports and NWB files.

=======================  =========================================================================
``events.csv``           candidate events: evidence, and the kind of those that are replay
``stretches.csv``        the stretches of travel in each event: length, speed, sense
``sequences.parquet``    the place sequences of replay, classified by the experience until then
``kinds.csv``            counts and shares of kinds, by the size of states
``choices.csv``          the same under other sizes of states, ends of laps and criteria
``shares.csv``           shares of kinds, corrected for replay that this recording would miss
``known_replay.parquet``  known paths, put into the recording's rest, and what is found of them
``paths.parquet``        the course of each stretch
``experience.parquet``   the animal's moves between states, which can be fed to learners
``spikes.parquet``       the spikes of each event, in cells with place fields
``traces.parquet``       in each event: rate of all cells, speed, position, field potential
``place_fields.parquet``  the rates of these cells along the track
``states.csv``           the positions of states
``track.json``           the track graph
``statistics.csv``       the statistics of replay in this recording, beside published values
``accounts.csv``         the same beside the predictions of accounts of replay
``controls.csv``         kinds of events without replay, and how much evidence they have
``chance.csv``           the evidence of each of these events
``epochs.csv``           rates, shares and statistics in each epoch, if epochs are given
``epoch_differences.csv``  tests of their differences
``epoch_blocks.csv``     the blocks of time over which intervals and tests are
``calibration.csv``      the least evidence of replay, and what reaches it by chance
``notes.csv``            what was read and done, what explains the replay found, and about shares
``report.md``            all results as text, with the criteria, and their limits
``replay.nwb``           events, sequences and paths for other programs, if pynwb is installed
=======================  =========================================================================

Of several animals of one experiment, these tables have a column `animal`, and there is a report and
an NWB file for each. Means and intervals are over animals:

==========================  ======================================================================
``report.md``               all animals: their replay, kinds and statistics with intervals
``report_ANIMAL.md``        one animal
``replay_ANIMAL.nwb``       its events, sequences and paths, if pynwb is installed
``kinds_of_all.csv``        shares of kinds: means over animals with intervals
``shares_of_all.csv``       the same, as found and as corrected
``statistics_of_all.csv``   the statistics of replay: means over animals with intervals
``epochs_of_all.csv``       the epochs, if any are given: means over animals with intervals
``epoch_differences_of_all.csv``  their differences, with tests over animals
``accounts.csv``            these beside published values and the predictions of accounts
==========================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path

import pandas as pd

from analyses.intervals import mean_share_interval
from analyses.jobs import WorkCost
from analyses.jobs.kept import Kept
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Runner, Shown, Study
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import N_SESSIONS, Judgement, Settings
from analyses.recordings.decide.conclusions import Conclusions, conclude_session
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.readers.intervals import check_apart
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.animals import report_of_animals
from analyses.reports.recorded import (
    LEAST_SEQUENCES,
    count_replay,
    describe_dependence,
    describe_dependence_of_animals,
    describe_rates,
    funnel,
    intervals_over,
    replay_by_chance,
)
from analyses.studies.recorded_replay import (
    EVENTS,
    AnimalsPlan,
    RecordingPlan,
    cost_of,
    plan_animals,
    plan_recording,
)
from analyses.studies.recorded_replay.animal_figures import DRAWINGS, of_all, of_each_animal
from analyses.studies.recorded_replay.animal_tables import (
    analyse,
    epochs_of_all,
    landmarks_of,
    write_track,
)
from analyses.studies.recorded_replay.statistics import (
    beside_predictions,
    read_predictions,
    recorded_statistics,
)
from analyses.studies.typical_replay import animal_seed
from replay.checks import check_choice, check_list, known_arguments
from replay.files import check_path, replacing

_ANIMAL = "animal"


def make(plan: RecordingPlan | AnimalsPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Test a block of the events of an animal."""
    own = plan.animals[piece.group]
    if own.scored:
        return own.scored[piece.number]._asdict()
    return score_block(own.session, piece.number, own.seed)._asdict()


def estimate(plan: RecordingPlan | AnimalsPlan, left: Sequence[Piece], call: Runner) -> WorkCost:
    """Estimate the cost of what is left."""
    groups = [piece.group for piece in left]
    plans = [(own, groups.count(name)) for name, own in plan.animals.items()]
    [cost] = call(cost_of, [(plans,)])
    return cost


def _summarise(plan: RecordingPlan | AnimalsPlan, results: Results) -> dict[str, pd.DataFrame]:
    first = next(iter(plan.animals.values()))
    write_track(first, results.folder)
    if isinstance(plan, RecordingPlan):
        return analyse(plan, results, EVENTS).tables
    analysed = {name: analyse(own, results, name, f"_{name}") for name, own in plan.animals.items()}
    names = next(iter(analysed.values())).tables
    tables = {
        name: pd.concat(
            [each.tables[name].assign(animal=animal) for animal, each in analysed.items()],
            ignore_index=True,
        )
        for name in names
    }
    for table in tables.values():
        table.insert(0, _ANIMAL, table.pop(_ANIMAL))
    statistics = recorded_statistics(
        [each.found for each in analysed.values()],
        landmarks_of(first),
        least_sequences=LEAST_SEQUENCES,
    )
    kinds = _over_animals(tables["kinds.csv"], "share", "n_events", ["state_size", "kind"])
    # Found and corrected shares are averages over those animals that have them.
    n_replay = tables["events.csv"].groupby(_ANIMAL)["is_replay"].sum()
    shares = tables["shares.csv"].assign(n=tables["shares.csv"][_ANIMAL].map(n_replay))
    found, corrected = (
        _over_animals(shares, name, "n", ["kind"]).drop(columns="sem")
        for name in ("found", "corrected")
    )
    tables |= {
        "kinds_of_all.csv": kinds.rename(columns={"n": "n_animals"}),
        "shares_of_all.csv": found.merge(corrected, on="kind", suffixes=("_found", "_corrected")),
        "statistics_of_all.csv": statistics,
        "accounts.csv": beside_predictions(statistics, first.predictions),
        **epochs_of_all(tables),
    }
    animals = {name: each.found for name, each in analysed.items()}
    with replacing(results.folder / "report.md") as beside:
        report = report_of_animals(animals, tables, first.session.judgement)
        beside.write_text(report, "utf-8")
    return tables


def _over_animals(table: pd.DataFrame, share: str, n: str, by: list[str]) -> pd.DataFrame:
    """Average the shares of kinds over animals; kinds keep their order."""
    order = list(dict.fromkeys(table["kind"]))
    ordered = table.assign(kind=pd.Categorical(table["kind"], categories=order))
    found = mean_share_interval(ordered, share, n, by)
    return found.rename(columns={"mean": share}).astype({"kind": str})


def _show(plan: RecordingPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    kinds = tables["kinds.csv"]
    own = kinds[kinds["state_size"] == plan.session.judgement.state_size]
    columns = ["kind", "n", "share", "ci_low", "ci_high"]
    chance, events = tables["calibration.csv"], tables["events.csv"]
    calibration = Calibration(*chance.iloc[0]) if len(chance) else None
    shares, notes = tables["shares.csv"], tables["notes.csv"]
    known = [
        "Simulated sessions with the same cells show how much replay is missed."
        if shares["corrected"].notna().any()
        else " ".join(notes.loc[notes["about"] == "shares", "note"]),
        describe_dependence(tables["choices.csv"]),
        "See report.md for details.",
    ]
    n_shuffles = plan.session.judgement.n_shuffles
    told = [
        replay_by_chance(events, calibration, n_shuffles),
        *notes.loc[notes["about"] == "replay", "note"],
    ]
    passing = funnel(events, tables["controls.csv"]).round(3)
    return [
        Shown(count_replay(events, calibration), own[columns], " ".join(filter(None, told))),
        *([Shown("Events that pass each control alone:", passing)] if len(passing) else []),
        Shown(
            "Shares of kinds, corrected for replay that this recording would miss:",
            shares.round(3),
            " ".join(filter(None, known)),
        ),
    ]


def _show_several(plan: AnimalsPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    notes = tables["notes.csv"]
    notes = notes[notes["about"] == "replay"]
    explained = [
        f"{animal}: {note}" for animal, note in notes[[_ANIMAL, "note"]].to_numpy().tolist()
    ]
    size = next(iter(plan.animals.values())).session.judgement.state_size
    events, chance = tables["events.csv"], tables["calibration.csv"]
    rates = {
        str(animal): Calibration(*row)
        for animal, *row in chance[[_ANIMAL, *Calibration._fields]].itertuples(index=False)
    }
    found = [
        f"{animal}: {count_replay(own, rates.get(str(animal)))}"
        for animal, own in events.groupby(_ANIMAL, sort=False)
    ]
    counts = events.groupby(_ANIMAL, sort=False)["is_replay"].agg(events="size", replay="sum")
    if len(chance):
        shown_rates = ["false_positive_rate", "ci_low", "ci_high"]
        counts = counts.join(chance.set_index(_ANIMAL)[shown_rates].round(3))
    kinds = tables["kinds_of_all.csv"]
    own = kinds.loc[kinds["state_size"] == size, ["kind", "share", "ci_low", "ci_high"]]
    statistics = tables["statistics_of_all.csv"]
    columns = ["statistic", "value", "ci_low", "ci_high", "null", "n_animals"]
    return [
        Shown(
            "Replay of each animal:",
            counts.reset_index(),
            "\n".join(filter(None, [*found, describe_rates(rates.values()), *explained])),
        ),
        Shown(
            "Shares of kinds, over animals:",
            own.round(3),
            f"{intervals_over(len(counts))} "
            + describe_dependence_of_animals(tables["choices.csv"]),
        ),
        Shown(
            "Statistics of replay, over animals:",
            statistics[columns].round(3),
            "See report.md and the report of each animal for details.",
        ),
    ]


STUDY = Study(
    "recording",
    "What is replayed in a recording, and how much of it is chance?",
    plan=lambda size, seed: plan_recording(
        simulated_recording(max(round(60 * size), 6), seed),
        judgement=Judgement(n_shuffles=max(round(20 * size), 19)),
    ),
    make=make,
    summarise=_summarise,
    figures={
        **{name: partial(of_each_animal, draw) for name, draw in DRAWINGS.items()},
        "statistics": partial(of_all, DRAWINGS["statistics"]),
    },
    show=_show,
    estimate=estimate,
    command="replay recording",
)
"""The study of one recording."""

STUDY_OF_SEVERAL = Study(
    "recordings",
    "What do several animals replay, and how much of it is chance?",
    plan=lambda size, seed: plan_animals(
        {
            f"animal_{number + 1}": plan_recording(
                simulated_recording(24, animal_seed(seed, number)),
                judgement=Judgement(n_shuffles=max(round(20 * size), 19)),
                n_sessions=5,
            )
            for number in range(max(round(3 * size), 2))
        }
    ),
    make=make,
    summarise=_summarise,
    figures=STUDY.figures,
    show=_show_several,
    estimate=estimate,
    command=STUDY.command,
)
"""The study of several recordings."""


class Found(Kept, Conclusions):
    """The replay that was found in a recording; its attributes are those of `Conclusions`.

    Its methods give what ``replay recording`` writes. The first of them simulates the sessions by
    which shares are corrected, which takes up to a minute; the others reuse its tables.
    """

    study = STUDY
    plan: RecordingPlan

    def shares(self) -> pd.DataFrame:
        """Return the shares of kinds, as found, and as corrected for what would be missed."""
        return self.tables()["shares"]

    def statistics(self) -> pd.DataFrame:
        """Return the statistics of replay, beside published values."""
        return self.tables()["statistics"]

    def _repr_html_(self) -> str:
        judgement = self.session.judgement
        told = [
            count_replay(self.events, self.calibration),
            replay_by_chance(self.events, self.calibration, judgement.n_shuffles),
        ]
        own = self.kinds[self.kinds["state_size"] == judgement.state_size]
        kinds = own[["kind", "n", "share", "ci_low", "ci_high"]]
        return (
            f"<p><b>{escape(self.session.recording.name)}</b></p>"
            + "".join(f"<p>{escape(text)}</p>" for text in told if text)
            + kinds.round(3).to_html(index=False)
            + "<p>More: <code>report()</code>, <code>figures()</code>, <code>shares()</code>, "
            "<code>statistics()</code>, <code>tables()</code>, <code>save(folder)</code>.</p>"
        )


@known_arguments
def find_replay(
    recording: Recording,
    settings: Settings | None = None,
    judgement: Judgement | None = None,
    *,
    seed: int = 0,
    n_sessions: int = N_SESSIONS,
    epochs: Iterable[str] = (),
    comparison: str | Path | None = None,
) -> Found:
    """Find and classify the replay in a recording.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.read_recording` returns it.
    settings : Settings, optional
        The settings of decoding; by default those for how its events are found, as
        `analyses.recordings.settings_for` chooses them.
    judgement : Judgement, optional
        The criteria for replay; by default those on a track or in an arena.
    seed : int, default 0
        Seed of the controls.
    n_sessions : int, default 10
        Number of simulated sessions from which `shares` are corrected, and `explain` learns what
        decoding loses; 0: neither.
    epochs : iterable of str, optional
        Names of epochs of the recording, `recording.epochs`, to compare; by default none are.
    comparison : path, optional
        A folder that ``replay compare`` wrote, whose predictions are shown beside the statistics.

    Returns
    -------
    Found
        Events, sequences and kinds, and how they were found; with a report, figures and tables.

    Raises
    ------
    ValueError
        If required data are missing.

    Examples
    --------
    A simulated animal runs along a linear track, and replays its runs backwards:

    >>> from analyses.recordings import observe
    >>> from replay import MDP, simulate
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(120.0)
    >>> world = MDP.from_networkx(track, rewards={1: 1.0}, terminal=1, start=0, bin_size=15.0)
    >>> log = simulate(world, "episodic_control", n_steps=400, max_episode_steps=40, seed=1).log
    >>> recording = observe(log, track, cells=60, speed=400.0).recording
    >>> found = find_replay(recording, judgement=Judgement(other_sizes=()), n_sessions=0)
    >>> found.events["kind"].value_counts().index[0]
    'reverse_episode'
    >>> print(found.report()[:36])
    # Replay in the observation of track
    """
    predictions = None
    if comparison is not None:
        predictions = read_predictions(check_path("comparison", comparison))
    names = [str(name) for name in check_list("epochs", epochs)]
    plan = plan_recording(
        recording, settings, judgement, seed, n_sessions=n_sessions, predictions=predictions
    )
    chosen = {check_choice("epoch", name, recording.epochs): name for name in names}
    compared = {name: recording.epochs[name] for name in chosen}
    check_apart(compared)
    blocks = [score_block(plan.session, number, seed) for number in range(n_blocks(plan.session))]
    scored = Scored(*(pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)))
    found = Found(*conclude_session(plan.session, scored))
    found.plan = plan._replace(epochs=compared, scored=blocks)
    return found
