"""Predictions of accounts beside the statistics of a recording."""

import numpy as np
import pandas as pd
import pytest

from analyses.measures import QUESTIONS
from analyses.reports.recorded import accounts_table, statistics_table
from analyses.studies.recorded_replay.animal_figures import draw_accounts
from analyses.studies.recorded_replay.statistics import beside_predictions, read_predictions

OWN = pd.DataFrame(
    {
        "statistic": ["reverse_share", "forward_minus_reverse_at_rest"],
        "label": ["reverse", "forward"],
        "value": [0.45, 0.2],
        "ci_low": [0.3, np.nan],
        "ci_high": [0.6, np.nan],
        "null": [0.5, 0.0],
        "n_chains": [20, 10],
        "published_low": [0.4, np.nan],
        "published_high": [0.5, np.nan],
        "sources": ["Someone", np.nan],
    }
)


def test_each_finding_and_account_has_its_row():
    predictions = read_predictions()
    table = beside_predictions(OWN, predictions)
    expected = predictions[
        predictions["statistic"].isin(["reverse_share", "forward_minus_reverse_at_rest"])
    ]
    assert len(table) == len(expected)
    assert (table.loc[table["statistic"] == "reverse_share", "value"] == 0.45).all()
    merged = table.merge(expected, on=["finding", "account"], suffixes=("", "_there"))
    pd.testing.assert_series_equal(
        merged["predicted"], merged["predicted_there"], check_names=False
    )


def test_a_direction_is_no_number():
    """`published` is 1 or -1 if a study reported the sign only."""
    table = beside_predictions(OWN, read_predictions()).set_index("finding")
    assert table.loc["lee2002.forward", "published"].isna().all()
    assert table.loc["shin2019.rev_fraction", "published"].round(2).unique().tolist() == [0.54]


def test_the_report_counts_who_holds_the_value():
    low = [0.4, 0.5, np.nan, 0.0]
    table = beside_predictions(
        OWN.iloc[:1],
        pd.DataFrame(
            {
                "statistic": "reverse_share", "finding": "a", "source": "Someone",
                "task": "w_track",
                "likelihood": "count", "published": 0.5, "published_low": 0.4,
                "published_high": 0.6, "account": ["a", "b", "c", "control"],
                "is_control": [False, False, False, True], "predicted_low": low,
                "predicted": low, "predicted_high": [0.5, 0.6, np.nan, 1.0],
            }
        ),
    )  # fmt: skip
    (row,) = accounts_table(table).splitlines()[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        "reverse_share", "Someone (w track)", "0.45 (0.30 to 0.60)", "0.50 (0.40 to 0.60)",
        "0.40 to 0.50", "1 of 2", "1 of 1",
    ]  # fmt: skip
    assert "0.45 (0.30 to 0.60)" in statistics_table(OWN)


def test_each_question_has_figures_with_a_panel_for_each_finding():
    table = beside_predictions(OWN, read_predictions())
    figures = dict(draw_accounts(None, lambda name: table))
    assert [*figures] == [
        f"statistics_{question}"
        for question, each in QUESTIONS.items()
        if table["statistic"].isin(each).any()
    ]
    assert sum(len(figure.axes) for figure in figures.values()) == table["finding"].nunique()


def test_a_folder_without_comparison_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no comparison with findings"):
        read_predictions(tmp_path)
    (tmp_path / "evidence.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"evidence\.csv"):
        read_predictions(tmp_path)
