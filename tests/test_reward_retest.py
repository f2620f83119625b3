"""The arithmetic of the retest on the rats of another study, on counts by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reward_retest import counts_of, drawn_again, ratio_of_ratios, totals
from reward_retest_figures import retest_figure

from replay.data import reference_table


def session(animal, number, reverse):
    """Ten visits of two minutes in all to each end in each epoch."""
    keys = [*product(("raised", "other"), ("before", "raised"))]
    table = pd.DataFrame(keys, columns=["end", "epoch"])
    return table.assign(animal=animal, session=number, forward=0, reverse=reverse, visits=10,
                        minutes=2.0)  # fmt: skip


def test_a_ratio_of_ratios_by_hand():
    counts = pd.concat([session("a", 1, [1, 3, 2, 1]), session("b", 1, [1, 4, 0, 2])])
    total = totals(counts, ["animal"]).sum().to_frame().T
    # (7 + 1/2) / (2 + 1/2) at the raised end, (3 + 1/2) / (2 + 1/2) at the other.
    assert ratio_of_ratios(total, "reverse").item() == pytest.approx(np.log(3.0 / 1.4))
    assert ratio_of_ratios(total, "reverse", "minutes").item() == pytest.approx(np.log(3.0 / 1.4))
    assert ratio_of_ratios(total, "forward").item() == 0.0


def test_units_are_drawn_again_as_wholes():
    counts = pd.concat([session("a", 1, [0, 8, 0, 0]), session("b", 1, [0, 0, 0, 0])])
    drawn = drawn_again(totals(counts, ["animal"]), seed=0)
    found = drawn["reverse", "raised", "raised"].value_counts(normalize=True)
    assert sorted(found.index) == [0.0, 8.0, 16.0]
    np.testing.assert_allclose(found.sort_index(), [0.25, 0.5, 0.25], atol=0.04)


def test_replay_counts_at_the_visit_in_which_it_happens():
    """One event is between visits, and one is no replay."""

    class Found:
        events = pd.DataFrame(
            {"event": [0, 1, 2, 3], "start_time": [1.0, 12.0, 21.0, 22.0],
             "is_replay": [True, True, True, False], "p_content": [0.01, 0.01, 0.2, 0.01]}
        )  # fmt: skip
        stretches = pd.DataFrame(
            {"event": [0, 0, 1, 2, 3], "sense": ["reverse", "forward", "reverse", "reverse",
                                                  "forward"]}
        )  # fmt: skip

    class Session:
        visits = pd.DataFrame(
            {"start_time": [0.0, 20.0], "end_time": [10.0, 50.0], "end": ["raised", "other"],
             "epoch": ["before", "raised"]}
        )  # fmt: skip

    table = counts_of(Session, Found).set_index("end")
    assert table[["events", "content", "forward", "reverse"]].loc["raised"].tolist() == [1, 1, 1, 1]
    assert table[["events", "content", "forward", "reverse"]].loc["other"].tolist() == [2, 1, 0, 1]
    assert table["minutes"].tolist() == pytest.approx([0.5, 1 / 6])


def test_the_shipped_changes_are_those_of_the_shipped_counts():
    counts, changes = (reference_table(f"retest/retest_{name}") for name in ("counts", "changes"))
    own = changes[changes["group"] == "all"].set_index(["sense", "per"])["log_ratio"]
    for sense, exposure in product(("forward", "reverse"), ("visits", "minutes")):
        rate = {}
        for key, rows in counts.groupby(["end", "epoch"]):
            rate[key] = (rows[sense].sum() + 0.5) / rows[exposure].sum()
        raised = rate["raised", "raised"] / rate["raised", "before"]
        other = rate["other", "raised"] / rate["other", "before"]
        assert own[sense, exposure[:-1]] == pytest.approx(np.log(raised / other))


@pytest.mark.parametrize("width_cm", [8.5, 17.5])
def test_the_figure_is_legible(width_cm, assert_legible):
    assert_legible(retest_figure(*(reference_table(f"retest/retest_{name}") for name in
                            ("rates", "changes")), width_cm=width_cm))  # fmt: skip
