"""The table of published findings, and findings of one's own."""

import numpy as np
import pandas as pd
import pytest

from analyses.findings.published import EVIDENCE, findings, published_ranges
from analyses.measures import STATISTICS
from replay.tasks.published import TASKS

OWN = {
    "id": "mine2026.reverse",
    "citation": "Mine M, Other O (2026) My track. Journal 1:1-2",
    "doi": "10.1000/mine",
    "year": 2026,
    "quantity": "reverse fraction",
    "evidence": "primary paper",
    "value": 0.6,
    "unit": "fraction",
    "statistic": "S1",
    "task_name": "linear_track",
    "test": "range",
    "range": "S1",
}


@pytest.fixture(scope="module")
def table():
    return findings()


@pytest.mark.parametrize(
    ("finding", "value"),
    [
        ("gupta2010.bwd_fraction", 0.49),
        ("gupta2010.shortcut_rate.all", 0.01105),
        ("davidson2009.local_start", 0.4),
        ("ambrose2016.reverse_4x", 3.57),
        ("ambrose2016.forward_0x", -1.83),
        ("shin2019.p_rev_given_past.center", 0.781),
        ("shin2019.p_fwd_given_future.side", 0.729),
        ("igata2021.rev_fraction", 0.5306),
        ("jensen2024.p_follow.successful", 0.622),
        ("krause2022.alpha_swr", 0.86),
        ("olafsdottir2015.cued_rest2", 7.37),
        ("mallory2025.rev_fraction", 0.4698),
        ("liu2021.utility.both", 3.3),
    ],
)
def test_numbers_are_those_of_the_papers(table, finding, value):
    assert table.set_index("id").loc[finding, "value"] == value


def test_derived_fractions_follow_from_their_counts(table):
    value = table.set_index("id")["value"]
    reverse, forward = value["davidson2009.reverse_frac"], value["davidson2009.forward_frac"]
    assert value["davidson2009.reverse_of_directional"] == pytest.approx(68 / 174, abs=5e-5)
    assert reverse / (reverse + forward) == pytest.approx(68 / 174, abs=1e-3)
    assert value["gupta2010.shortcut_rate.all"] == pytest.approx(19 / 1719, abs=5e-6)
    assert value["gupta2010.shortcut_rate.never"] == pytest.approx(11 / 1719, abs=5e-6)
    n = {way: value[f"mallory2025.counts.{way}"] for way in ("forward_away", "reverse_away")}
    assert sum(n.values()) / 2537 == pytest.approx(value["mallory2025.away_fraction"], abs=5e-5)
    for well, past, future in (
        ("center", "center_in", "center_out"),
        ("side", "side_out", "side_in"),
    ):
        for known, cell, way in (("rev_given_past", past, "reverse"),
                                 ("fwd_given_future", future, "forward")):  # fmt: skip
            counts = value[[f"shin2019.{cell}.{each}" for each in ("reverse", "forward")]]
            share = value[f"shin2019.{cell}.{way}"] / counts.sum()
            assert share == pytest.approx(value[f"shin2019.p_{known}.{well}"], abs=5e-4)


def test_ranges_of_the_studies(table):
    ranges = published_ranges(table).set_index("range")
    assert ranges[["low", "high", "n_values"]].T.to_dict("list") == {
        "S1": [0.3908, 0.543, 5],
        "S2_forward_given_future": [0.635, 0.729, 2],
        "S2_reverse_given_past": [0.699, 0.781, 2],
        "S3_local": [0.4, 0.9022, 4],
        "S3_remote": [0.345, 0.472, 5],
        "S6_shortcut": [0.0064, 0.01105, 2],
    }
    of_one_study = {"S2_forward_given_future", "S2_reverse_given_past", "S6_shortcut"}
    assert set(ranges.index[ranges["n_studies"] == 1]) == of_one_study
    assert ranges.loc["S1", "sources"].split(", ") == [
        "Davidson 2009", "Mallory 2025", "Gupta 2010", "Igata 2021", "Shin 2019"
    ]  # fmt: skip


def test_every_finding_has_its_source_and_a_test_or_a_reason(table):
    assert table["id"].is_unique
    assert len(table) == 223
    assert set(table["evidence"]) == set(EVIDENCE)
    untested = table["test"] == "none"
    assert (table.loc[untested, "why_not"] != "").all()
    tested = table[~untested]
    assert set(tested["statistic"]) <= set(STATISTICS)
    assert set(table["task_name"]) - {""} <= set(TASKS)
    no_graph = tested[tested["task_name"] == ""]
    assert no_graph["id"].tolist() == ["igata2021.rev_fraction"]


def test_what_cannot_be_compared_is_not(table):
    """Rates, durations, speeds, ripples: models have none."""
    tested = table[(table["test"] != "none")]
    absolute = tested["unit"].str.contains(r"^(?:s|ms|m/s|cm)\b|ripples per|of ripples|^z$|bursts")
    assert (tested.loc[absolute, "test"] == "sign").all()
    assert set(table.loc[table["unit"].isin(["s", "ms", "m/s"]), "test"]) == {"none"}


def test_second_hand_values_are_marked_and_judge_nothing(table):
    marked = table[table["second_hand"]]
    assert len(marked) == 10
    assert marked["source"].str.endswith("(second-hand)").all()
    assert not table.loc[~table["second_hand"], "source"].str.contains("second-hand").any()
    assert (marked["test"] == "none").all()
    own = pd.DataFrame([OWN | {"evidence": "second-hand", "value": 0.99}])
    assert published_ranges(findings(own)).set_index("range").loc["S1", "high"] == 0.543


def test_studies_that_contradict_each_other_name_each_other(table):
    others = {row.id: set(row.contradicts.split()) for row in table.itertuples()}
    for finding, named in others.items():
        assert all(finding in others[other] for other in named), finding
    assert "mallory2025.session_sign" in others["diba2007.timing.order"]
    assert "ambrose2016.no_timing" in others["mallory2025.session_sign"]
    assert "jensen2024.p_follow.successful" in others["gillespie2021.future_arm"]
    assert others["shin2019.length_up"] == {
        "bernerslee2022.duration_passes", "bernerslee2022.slope_passes"
    }  # fmt: skip
    assert "krause2022.alpha_swr" in others["stella2019.brownian"]
    signs = table.set_index("id")["expected_sign"]
    for finding, named in others.items():  # the same test cannot expect the same of both
        for other in named:
            assert signs[finding] != signs[other], (finding, other)


def test_own_findings_are_rows(tmp_path, table):
    own = pd.DataFrame([OWN])
    path = tmp_path / "mine.csv"
    own.to_csv(path, index=False)
    for extra in (own, path, str(path)):
        both = findings(extra)
        pd.testing.assert_frame_equal(both.iloc[:-1], table)
        last = both.iloc[-1]
        assert last["source"] == "Mine 2026"
        assert last["why_not"] == ""
        assert np.isnan(last["expected_sign"])
    assert published_ranges(both).set_index("range").loc["S1", "high"] == 0.6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "gupta2010.bwd_fraction"}, "Two findings have the id 'gupta2010.bwd_fraction'"),
        ({"id": "my finding"}, "an id has no blanks"),
        ({"citation": None}, "citation is empty"),
        ({"doi": "https://doi.org/10.1000/mine"}, "doi must look like 10.1016"),
        ({"year": 26}, "year must be one, got 26"),
        ({"year": None}, "year must be one, got nan"),
        ({"value": "about half"}, "value must be a finite number, or empty; got 'about half'"),
        ({"value": np.inf}, "value must be a finite number"),
        ({"value": None}, "the test 'range' needs a value"),
        ({"range": None}, "needs a value, and the name of a range"),
        ({"evidence": "hearsay"}, "evidence must be one of primary paper, .* got 'hearsay'"),
        ({"test": "t-test"}, "test must be one of range, sign, none; got 't-test'"),
        ({"test": "sign"}, "needs an expected_sign of -1, 0 or 1, got nan"),
        ({"test": "sign", "expected_sign": 2}, "got 2"),
        ({"test": "none"}, "why_not must say why"),
        ({"statistic": None}, "needs a statistic"),
        ({"task_name": None}, "task_name must say in which task"),
        ({"contradicts": "nobody2020.x"}, "contradicts 'nobody2020.x', which is no finding"),
        ({"p_value": 0.1}, "has the column 'p_value', which findings don't have"),
        ({"value": True}, "row 0, finding 'mine2026.reverse': value must be a finite number"),
        ({"value": 1 + 2j}, r"value must be a finite number, or empty; got \(1\+2j\)"),
        ({"citation": [["Mine M (2026)"]]}, "row 0: citation must be text, got"),
    ],
)
def test_mistakes_in_own_findings_are_explained(change, message):
    with pytest.raises(ValueError, match=message):
        findings(pd.DataFrame([OWN | change]))


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match=r"your findings lacks the columns \['doi'\]"):
        findings(pd.DataFrame([OWN]).drop(columns="doi"))


def test_numbers_may_be_written_as_text():
    assert findings(pd.DataFrame([OWN | {"value": "0.6", "year": "2026"}])).iloc[-1]["value"] == 0.6


HEADER = ",".join(OWN).encode()
ROW = b'mine,"Mine M (2026) My track.",10.1000/mine,2026,share,primary paper,0.6,fraction,S1,'
ROW += b"linear_track,range,S1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "mine.csv is empty: its first line must name the columns"),
        (b"\n\n", "mine.csv is empty"),
        (b"\t", "mine.csv is empty"),
        (
            HEADER + b"\n" + ROW.replace(b"M (", b"\xe9 ("),
            "must be text in UTF-8, but line 2 is not",
        ),
        (
            (HEADER + b"\n" + ROW).decode().encode("utf-16"),
            "must be text in UTF-8, but line 1 is not",
        ),
        (HEADER + b"\n" + ROW[:20], "all quotes closed, got unexpected end of data"),
        (HEADER + b",id\n" + ROW + b",x", "has the column 'id' more than once: keep one"),
        (
            HEADER + b"\n" + ROW + b"\n" + ROW + b",x",
            "must have 12 fields in each row.* row 1 has 13",
        ),
        (HEADER + b"\n" + ROW[:-10], "must have 12 fields in each row"),
        (b"\x00\x01", "lacks the columns"),
    ],
)
def test_broken_files_are_explained(tmp_path, content, message):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        findings(path)


def test_what_is_no_table_and_no_file_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"must be a CSV file that can be read, got: .*No such file"
    ):
        findings(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must be a CSV file that can be read"):
        findings(tmp_path)
    with pytest.raises(TypeError, match="must be a DataFrame or the path of a file, got 5"):
        findings(5)
    own = pd.DataFrame([OWN])
    with pytest.raises(ValueError, match="has the column 'value' more than once"):
        findings(pd.concat([own, own[["value"]]], axis="columns"))


def test_definitions_and_reanalyses_are_told(table):
    """What was measured is told where the paper tells it, and whose data were analysed again."""
    definition = table.set_index("id")["definition"]
    defined = [
        "gupta2010.median_cells",
        "davidson2009.local_start",
        "davidson2009.remote_strict",
        "ambrose2016.local_exp1",
    ]
    assert (definition[defined] != "").all()
    assert definition["ambrose2016.local_exp2"] == definition["ambrose2016.local_exp1"]
    again = table["id"].str.startswith("jensen2024.")
    assert again.sum() == 5
    assert table.loc[again, "citation"].str.endswith("data of Widloski & Foster 2022]").all()
    assert set(table.loc[again, "source"]) == {"Jensen 2024"}
