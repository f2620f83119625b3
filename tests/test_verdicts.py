"""Verdicts on hand-made summaries of which the answer is known."""

import numpy as np
import pandas as pd
import pytest

from analyses.findings.table import findings
from analyses.findings.verdicts import NEED_CHOICES, excluding, expectation, held_against, verdicts


def summary(task="linear_track", statistic="S1", learner="model", value=0.45, null=0.5,
            above=4, below=6, p=0.75, n_animals=10, n_replays=50, chance=0.5):  # fmt: skip
    return {
        "task": task, "learner": learner, "statistic": statistic, "value": value, "null": null,
        "ci_low": value - 0.05, "ci_high": value + 0.05, "p": p, "n_animals": n_animals,
        "n_above": above, "n_below": below, "chance_above": chance, "n_chains": 100,
        "n_replays": n_replays,
    }  # fmt: skip


def judged(finding, *rows, **options):
    found = verdicts(pd.DataFrame(list(rows)), findings(), **options)
    (row,) = found[found["finding"] == finding].to_dict("records")
    return row["verdict"], row["reason"]


@pytest.mark.parametrize(
    ("value", "verdict", "word"),
    [(0.3908, "agrees", "within"), (0.543, "agrees", "within"), (0.39, "disagrees", "below"),
     (0.544, "disagrees", "above"), (1.0, "disagrees", "above")],
)  # fmt: skip
def test_ranges(value, verdict, word):
    got, reason = judged("mallory2025.rev_fraction", summary(value=value))
    assert got == verdict
    assert f"lies {word} the studies, 0.391 to 0.543" in reason


SIGNS = {
    "ambrose2016.reverse_4x": ("linear_track_4x", "S4_reverse", 1),
    "ambrose2016.reverse_0x": ("linear_track_0x", "S4_reverse", -1),
    "ambrose2016.forward_4x": ("linear_track_4x", "S4_forward", 0),
}


@pytest.mark.parametrize("finding", SIGNS)
@pytest.mark.parametrize(
    ("above", "below", "p", "found"),
    [(10, 0, 0.002, 1), (0, 10, 0.002, -1), (6, 4, 0.75, 0), (8, 2, 0.11, 0), (0, 0, np.nan, 0)],
)
def test_directions(finding, above, below, p, found):
    task, statistic, expected = SIGNS[finding]
    row = summary(task, statistic, value=0.1, null=0.0, above=above, below=below, p=p)
    verdict, reason = judged(finding, row)
    assert verdict == ("agrees" if found == expected else "disagrees")
    assert f"{above} of 10 animals above the null, {below} below" in reason
    assert ("p = " in reason) == (above + below > 0)


def test_the_majority_counts_not_the_mean():
    """One animal far above doesn't turn nine below."""
    row = summary("linear_track_4x", "S4_reverse", value=2.0, above=1, below=9, p=0.021)
    assert judged("ambrose2016.reverse_4x", row)[0] == "disagrees"


def test_what_is_not_comparable_says_why():
    few = summary("linear_track_4x", "S4_forward", above=3, below=2, p=1.0, n_animals=5)
    assert judged("ambrose2016.forward_4x", few) == (
        "not comparable", "5 animals have a value, a sign test needs 6"
    )  # fmt: skip
    assert judged("mallory2025.rev_fraction", summary(n_animals=1))[0] == "agrees"
    nothing = summary(value=np.nan, null=np.nan, n_animals=0, p=np.nan)
    assert judged("mallory2025.rev_fraction", nothing)[1] == "it makes no such chains"
    no_null = summary("linear_track_4x", "S4_forward", null=np.nan, above=0, below=0, p=np.nan)
    assert "no null" in judged("ambrose2016.forward_4x", no_null)[1]
    assert judged("igata2021.rev_fraction", summary())[1] == "its task has no graph here"
    assert "seconds" in judged("mallory2025.median_fwd", summary())[1]
    assert judged("mallory2025.session_sign", summary())[1] == "S13_stop was not measured there"
    away = judged("mallory2025.away_fraction", summary(statistic="S3_away"))
    assert away == ("not comparable", "one study alone makes no range")
    other = [summary(), summary("long_track", learner="other")]
    found = verdicts(pd.DataFrame(other), findings()).query("learner == 'other'")
    reason = found.set_index("finding").loc["mallory2025.rev_fraction", "reason"]
    assert "ways back add nothing" in reason


def test_no_replay_at_all_disagrees_but_may_be_a_value_of_its_own():
    quiet = {"n_animals": 0, "n_replays": 0, "p": np.nan, "null": np.nan, "above": 0, "below": 0}
    assert judged("mallory2025.rev_fraction", summary(value=np.nan, **quiet)) == (
        "disagrees", "no replay at all"
    )  # fmt: skip
    forward = summary("linear_track_4x", "S4_forward", value=np.nan, **quiet)
    assert judged("ambrose2016.forward_4x", forward) == ("disagrees", "no replay at all")
    none = {"value": 0.0, "null": 0.0, "above": 0, "below": 0, "p": np.nan, "n_replays": 0}
    novel = [summary("linear_track_novel", name, **none) for name in ("S10_before", "S10_one_lap")]
    assert judged("bernerslee2022.onepass.after", *novel)[0] == "disagrees"


def test_choices_need_laps_of_ones_own():
    row = summary("barrier_arena", "S8_followed", null=0.0, above=10, below=0, p=0.002)
    assert judged("jensen2024.p_follow.successful", row)[0] == "agrees"
    verdict, reason = judged("jensen2024.p_follow.successful", row, behaviour="given")
    assert verdict == "not comparable"
    assert "learner chose" in reason
    tested = findings().query(
        "statistic in @NEED_CHOICES", local_dict={"NEED_CHOICES": NEED_CHOICES}
    )
    assert set(tested["statistic"]) == set(NEED_CHOICES)


def test_findings_that_exclude_each_other_are_never_all_agreed_with():
    """Whatever a model does."""
    for above, below, p in [(10, 0, 0.002), (0, 10, 0.002), (5, 5, 1.0)]:
        row = summary(statistic="S13_stop", null=0.0, above=above, below=below, p=p)
        found = verdicts(pd.DataFrame([row]), findings())
        letters = excluding(found)
        timing = found[found["statistic"] == "S13_stop"]
        assert len(set(timing["finding"].map(letters))) == 1
        assert (timing["verdict"] == "agrees").sum() <= 1
        assert "stella2019.brownian" not in letters  # nothing of that set is tested


def test_findings_tested_alike_are_one_test():
    rows = [summary(), summary(learner="quiet", value=np.nan, n_replays=0)]
    rows += [{**row, "statistic": "S13_stop", "null": 0.0} for row in rows]
    found = verdicts(pd.DataFrame(rows), findings())
    held = held_against(found)
    tests = held.groupby("test")["finding"].unique()
    assert [sorted(names) for names in tests] == [
        ["mallory2025.rev_fraction"],
        ["mallory2025.session_sign"],
        ["diba2007.timing.order"],
    ]
    assert len(held) == 3 * 2
    assert expectation(held.iloc[0]) == "0.391 to 0.543"


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="statistics lacks the columns"):
        verdicts(pd.DataFrame({"task": []}), findings())
    with pytest.raises(ValueError, match="one row for each task, learner and statistic"):
        verdicts(pd.DataFrame([summary(), summary()]), findings())
    with pytest.raises(ValueError, match=r"'p' of statistics must hold .*; row 0 has 'small'"):
        verdicts(pd.DataFrame([summary() | {"p": "small"}]), findings())
    with pytest.raises(ValueError, match="Unknown behaviour 'free'"):
        verdicts(pd.DataFrame([summary()]), findings(), behaviour="free")
    with pytest.raises(ValueError, match="the table of findings lacks the columns"):
        verdicts(pd.DataFrame([summary()]), findings().drop(columns="unit"))
