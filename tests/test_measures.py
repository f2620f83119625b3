"""Properties that all statistics share."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from replay_tables import eight, replays, sequence, track, w_track, with_sequences
from scipy import stats

from analyses import measures
from analyses.measures import STATISTICS
from analyses.measures.animals import over_animals
from analyses.measures.chance import CHANCE_STATISTICS
from analyses.measures.replays import PAUSES
from analyses.sequences.place_sequences import Detection
from analyses.sequences.sequences import Lists


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("task", [track(), eight(), w_track()], ids=["track", "eight", "w_track"])
def test_every_statistic_of_every_task_gives_one_row_an_animal(name, task):
    """The value is NaN if a task lacks what a statistic needs, or there is no replay."""
    pauses = [{"animal": animal, "phase": "start"} for animal in (3, 1)]
    laps = [{"animal": animal} for animal in (3, 1)]
    sequences = [sequence(*range(6), animal=3), sequence(*range(5, -1, -1), animal=3, phase="rest")]
    statistic = STATISTICS[name]
    for tables in (replays(task, sequences, pauses, laps), replays(task, [], pauses, laps)):
        found = statistic.compute(tables.detected(Detection(min_length=3)))
        assert found.columns.tolist() == ["animal", "value", "null", "n"]
        assert found["animal"].tolist() == [1, 3]
        assert not found["null"][found["value"].isna()].notna().any()
        told = found["value"].dropna()
        assert not statistic.is_share or told.between(0, 1).all()
        assert len(over_animals(found.assign(statistic=name))) == 1
    assert statistic.label


def test_every_statistic_is_defined_by_its_function():
    """Its docstring says what the statistic is, and its null; so does the page of all."""
    for name, statistic in STATISTICS.items():
        assert re.search(r"\bnull\b", statistic.definition, re.IGNORECASE), name
        assert statistic.definition in measures.__doc__


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_counts_the_sequences_of_its_phases_alone(name):
    """Others make no difference; of places at rest and awake, neither is left out."""
    tables = replays(eight(), [sequence(*range(6), phase=phase) for phase in PAUSES])
    statistic = STATISTICS[name]
    is_counted = tables.sequences["phase"].isin(statistic.phases).to_numpy()
    kept = with_sequences(tables, tables.sequences[is_counted].reset_index(drop=True))
    if name not in ("rate_before_first_lap", "rate_after_one_lap"):  # rest before all laps, too
        pd.testing.assert_frame_equal(statistic.compute(tables), statistic.compute(kept))


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_of_causal_chains(name):
    """The same, of a model's mechanism; what needs place sequences says nothing."""
    found = [sequence(*range(6)), sequence(*range(5, -1, -1), direction="reverse")]
    tables = replays(eight(), found)
    tables = replace(tables, sequences=tables.sequences.drop(columns="moves"),
                     counts="causal chains")  # fmt: skip
    found = STATISTICS[name].compute(tables)
    assert len(found) == 1
    assert name not in CHANCE_STATISTICS or found["value"].isna().all()


def test_sequences_without_a_column():
    tables = replays(track(), [])
    tables = replace(tables, sequences=tables.sequences.drop(columns="direction"))
    with pytest.raises(ValueError, match="sequences lacks the columns"):
        STATISTICS["reverse_share"].compute(tables)


def measured(*states, **columns):
    away = [abs(place - states[0]) for place in states]
    return sequence(*states, **columns) | {
        "distance": 10.0 * (len(states) - 1),
        "extent": 10.0 * (max(states) - min(states)),
        "correlation": np.corrcoef(range(len(states)), away)[0, 1]
        if len(set(away)) > 1
        else np.nan,
    }


@pytest.mark.parametrize(
    ("criteria", "kept"),
    [
        ({"min_length": 3}, [0, 1]),
        ({"min_length": 2, "min_distance": 40.0}, [0, 2]),
        ({"min_length": 2, "min_extent": 20.0}, [0, 1]),
        ({"min_length": 2, "min_correlation": 0.9}, [0, 1]),
    ],
)
def test_detection_leaves_out_what_a_study_would_not_have_counted(criteria, kept):
    """Five places in a row, three, and a walk to and fro between two of them."""
    paths = [measured(0, 1, 2, 3, 4), measured(4, 3, 2), measured(0, 1, 0, 1, 0)]
    columns = list(paths[0])
    tables = with_sequences(replays(track(), []), pd.DataFrame(paths, columns=columns))
    found = tables.detected(Detection(**criteria))
    expected = [paths[i]["states"].tolist() for i in kept]
    assert [path.tolist() for path in found.sequences["states"]] == expected
    assert [path.tolist() for path in found.states.arrays()] == expected
    assert found.detection == Detection(**criteria)
    with pytest.raises(ValueError, match="3 sequences need a list of states each, got 0"):
        replace(tables, states=Lists.of([]))


@pytest.mark.parametrize(
    ("detection", "message"),
    [
        (Detection(min_length=1), "min_length must be a whole number of at least 2, got 1"),
        (Detection(min_length=2), "min_length must be at least 3, as before; got 2"),
        (Detection(min_extent=-1), "min_extent must be a finite number of at least 0"),
        (Detection(largest_jump=2), "made with largest_jump=1, not 2: make them again"),
    ],
)
def test_refused_detection(detection, message):
    tables = replays(track(), []).detected(Detection(min_length=3))
    with pytest.raises(ValueError, match=message):
        tables.detected(detection)
    with pytest.raises(TypeError, match="must be a Detection, got int"):
        tables.detected(5)


def test_summary():
    tables = replays(track(), [sequence(*range(5)), sequence(*range(5), direction="reverse")])
    row = over_animals(
        STATISTICS["reverse_share"].compute(tables).assign(statistic="reverse_share")
    ).iloc[0]
    assert row["value"] == 0.5
    assert np.isnan([row["ci_low"], row["ci_high"], row["p"]]).all()
    silent = (
        STATISTICS["reverse_share"].compute(replays(track(), [])).assign(statistic="reverse_share")
    )
    nothing = over_animals(silent).iloc[0]
    assert np.isnan(nothing[["value", "ci_low", "null", "p"]].astype(float)).all()
    assert nothing["n_animals"] == nothing["n_chains"] == 0


@pytest.mark.parametrize(
    ("name", "null", "n", "n_above", "chance"),
    [
        ("reverse_share", 0.5, 21, 9, 0.5),
        ("other_side_one_minus_both_run", 0.0, 21, 9, 0.5),
        ("composed_share", 0.0, 8, 12, 0.5),
        # A share of five sequences that is .1 by chance: none of them with .9^5, else above.
        ("begins_at_animal", 0.1, 5, 2, 1 - 0.9**5),
        ("forward_minus_reverse_rank", 0.1, 5, 2, 0.5),
        # Of ten sequences, .2 by chance: two say nothing.
        ("through_goal_share", 0.2, 10, 10, 0.32220 / (0.32220 + 0.37581)),
        ("mine", 0.2, 10, 10, 0.5),
    ],
)
def test_sign_test_of_animals(name, null, n, n_above, chance):
    value = np.where(np.arange(12) < n_above, 0.9, null - 0.1)
    table = pd.DataFrame({"statistic": name, "value": [*value, np.nan, null], "null": null, "n": n})
    both = stats.binom.cdf(n_above, 12, chance), stats.binom.sf(n_above - 1, 12, chance)
    row = over_animals(table).iloc[0]
    assert row["p"] == pytest.approx(min(1, 2 * min(both)), rel=1e-3)
    assert row["n_animals"] == 13
    assert (row["n_above"], row["n_below"]) == (n_above, 12 - n_above)
    assert row["chance_above"] == pytest.approx(chance, rel=1e-3)
    assert row["value"] == pytest.approx(np.nanmean(table["value"]))
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_lists_among_the_names_of_statistics_are_told():
    table = pd.DataFrame({"statistic": ["a", [1]], "value": 0.5, "null": 0.2, "n": 10})
    with pytest.raises(ValueError, match="must hold numbers only, texts only; row 1 has"):
        over_animals(table)
