"""The table of published findings, and a user's own findings."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.findings.rows import EVIDENCE, LIKELIHOODS, UNITS_OF_N
from analyses.findings.table import as_share, detection_of, findings, questions
from analyses.measures import STATISTICS
from analyses.sequences.place_sequences import Detection
from replay.tasks.published import TASKS

OWN = {
    "id": "mine2026.reverse",
    "citation": "Mine M, Other O (2026) My track. Journal 1:1-2",
    "year": 2026,
    "quantity": "reverse fraction",
    "statistic": "reverse_share",
    "task_name": "linear_track",
    "likelihood": "count",
    "successes": 60,
    "trials": 100,
}
VALUE = {"likelihood": "value", "successes": None, "trials": None}
VALUE |= {"value": 0.6, "standard_error": 0.05}
DIRECTION = {"likelihood": "direction", "successes": None, "trials": None}
DIRECTION |= {"sign": -1, "p_value": 0.01, "n_units": 5}
NULL = {"likelihood": "null", "successes": None, "trials": None}
NULL |= {"excluded_low": -0.2, "excluded_high": 0.1}
NONE = {"likelihood": "none", "successes": None, "trials": None}
FACTS = {"definition": 144, "value": 211, "n": 136, "p": 119, "error": 38}
FACTS |= {"direction": 282, "note": 74, "doi": 322}
NUMBERS = {name for columns in LIKELIHOODS.values() for name in columns}


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


def test_counts_are_those_of_the_papers(table):
    """Counts that papers print, and shares of which the paper prints no more than two digits."""
    counts = table.set_index("id")[["successes", "trials"]]
    for finding, expected in {
        "davidson2009.reverse_of_directional": (68, 68 + 106),
        "gupta2010.opp_share": (534, 534 + 869),
        "ambrose2016.local_exp1": (497, 581),
        "ambrose2016.local_exp2": (246, 314),
        "shin2019.p_rev_given_past.center": (324, 324 + 91),
        "shin2019.p_fwd_given_future.side": (272, 272 + 101),
        "shin2019.rev_fraction": (324 + 116 + 267 + 101, 1488),
        "igata2021.rev_fraction": (390, 390 + 345),
        "mallory2025.rev_fraction": (1086 + 106, 2537),
        "mallory2025.away_fraction": (1203 + 1086, 2537),
        "gupta2010.shortcut_pairs": (16, 19),
    }.items():
        assert tuple(counts.loc[finding]) == expected, finding
    rounded = {"gupta2010.bwd_fraction": 0.49, "davidson2009.local_start": 0.40}
    for finding, share in rounded.items():
        successes, trials = counts.loc[finding]
        assert successes == round(share * trials)


def test_differences_of_shares_follow_from_their_counts(table):
    rows = table.set_index("id")
    for finding, one, other in (
        ("shin2019.side_taken_fwd", 169, 103),
        ("shin2019.side_taken_rev", 200, 67),
        ("shin2019.center_taken.past", 146, 177),
        ("shin2019.center_taken.future", 111, 91),
    ):
        n, share = one + other, one / (one + other)
        row = rows.loc[finding]
        assert row["value"] == pytest.approx(2 * share - 1, abs=1e-4)
        assert row["standard_error"] == pytest.approx(
            2 * np.sqrt(share * (1 - share) / n), abs=1e-4
        )


def test_what_forward_replay_excludes_follows_from_z(table):
    """Ambrose 2016: z of the interaction; its size is known second-hand."""
    rows = table.set_index("id")
    for finding, second_hand in (("forward_4x", "pct_exp1"), ("forward_0x", "pct_exp2")):
        row = rows.loc[f"ambrose2016.{finding}"]
        equal, unequal = (
            rows.loc[f"ambrose2016_via_mattar.{second_hand}.forward_{kind}", "value"]
            for kind in ("equal", "unequal")
        )
        effect = np.log((100 + unequal) / (100 + equal))
        half = 1.96 * effect / row["value"]
        assert row["excluded_low"] == pytest.approx(effect - half, abs=0.01)
        assert row["excluded_high"] == pytest.approx(effect + half, abs=0.01)


def published_ranges(table):
    """Give the range of each quantity that at least two studies measured first-hand."""
    is_number = table["likelihood"].isin(["count", "value"]) & ~table["second_hand"]
    rows = table[is_number & (table["quantity_class"] != "")]
    rows = rows.assign(value=as_share(rows)).sort_values("value", kind="stable")
    ranges = rows.groupby("quantity_class", sort=True).agg(
        low=("value", "min"),
        high=("value", "max"),
        n_values=("value", "size"),
        n_studies=("study", "nunique"),
        sources=("source", lambda sources: ", ".join(dict.fromkeys(sources))),
    )
    return ranges[ranges["n_studies"] > 1].reset_index()


def test_ranges_are_of_equal_quantities_of_several_studies(table):
    ranges = published_ranges(table)
    assert ranges.drop(columns="sources").to_dict("records") == [
        {"quantity_class": "reverse of directional", "low": 0.3908, "high": 0.543,
         "n_values": 5, "n_studies": 5}
    ]  # fmt: skip
    assert ranges.loc[0, "sources"].split(", ") == [
        "Davidson 2009", "Mallory 2025", "Gupta 2010", "Igata 2021", "Shin 2019"
    ]  # fmt: skip
    moves, begins = (
        table.set_index("id").loc[finding, "quantity_class"]
        for finding in ("mallory2025.away_fraction", "ambrose2016.local_exp1")
    )
    assert moves != begins != ""


def test_every_finding_has_its_source_and_a_test_or_a_reason(table):
    assert table["id"].is_unique
    assert set(table["evidence"]) <= set(EVIDENCE)
    assert not table["unpublished"].any()
    untested = table["likelihood"] == "none"
    assert (table.loc[untested, "why_not"] != "").all()
    tested = table[~untested]
    assert set(tested["statistic"]) <= set(STATISTICS)
    assert set(table["task_name"]) - {""} <= set(TASKS)
    assert (tested["question"] != "").all()
    assert tested[["n_animals", "n_units"]].notna().all(axis=None)
    assert set(tested["unit_of_n"]) <= set(UNITS_OF_N)
    no_graph = tested[tested["task_name"] == ""]
    assert no_graph["id"].tolist() == ["igata2021.rev_fraction"]


def test_a_statistic_asks_one_question(table):
    """The question of a user's own finding follows from its statistic."""
    asked = table[(table["statistic"] != "") & (table["question"] != "")]
    assert asked.drop_duplicates(["statistic", "question"])["statistic"].is_unique


def test_questions_tell_who_answers(table):
    asked = questions(table).set_index("question")
    alone = asked.loc["Does replay lead away from the animal?"]
    assert (alone["n_tested"], alone["n_studies"], alone["studies"]) == (1, 1, "mallory2025")
    assert alone["others"] == "davidson2009"
    assert (
        asked["n_tested"].sum()
        == ((table["likelihood"] != "none") & (table["why_not"] == "")).sum()
    )
    own = pd.DataFrame([OWN])
    both = questions(findings(own)).set_index("question")
    one_more = both["n_studies"] - asked["n_studies"]
    assert one_more[one_more != 0].to_dict() == {"How much of replay is reverse?": 1}
    assert questions(table.head(0)).empty


def test_all_data_of_a_study_have_one_vote(table):
    study = table.set_index("id")["study"]
    assert study["gillespie2021.remote_frac.rat1"] == study["gillespie2021.remote_frac.rat4"]
    assert study["ambrose2016_via_mattar.pct_exp1.reverse_equal"] == "ambrose2016"
    assert study["jensen2024.wall_cross"] == "widloski2022"  # the same recordings
    votes = table[(table["likelihood"] != "none") & (table["why_not"] == "")]
    assert votes.groupby("study").size()["gupta2010"] > 1
    tested = votes.groupby("study")["id"].agg(list)
    arms = ["gillespie2021.prev_goal_fold", "gillespie2021.past_arm"]
    assert tested["gillespie2021"] == arms


def test_what_cannot_be_compared_is_not(table):
    """Rates, durations, speeds, ripples: models have none."""
    tested = table[table["likelihood"] != "none"]
    absolute = tested["unit"].str.contains(r"^(?:s|ms|m/s|cm)\b|ripples per|of ripples|^z$|bursts")
    assert tested.loc[absolute, "likelihood"].isin(["direction", "null"]).all()
    assert set(table.loc[table["unit"].isin(["s", "ms", "m/s"]), "likelihood"]) == {"none"}


def test_what_was_not_read_is_marked_and_judges_nothing(table):
    marked = table[table["second_hand"]]
    assert marked["source"].str.endswith("(second-hand)").all()
    assert not table.loc[~table["second_hand"], "source"].str.contains("second-hand").any()
    assert (marked["likelihood"] == "none").all()
    own = pd.DataFrame([OWN | {"evidence": "second-hand", "quantity_class": "mine"}] * 2)
    own = own.assign(id=["one.x", "two.x"])
    assert "mine" not in set(published_ranges(findings(own))["quantity_class"])
    ranges = published_ranges(findings(own.assign(evidence="abstract")))
    assert ranges.set_index("quantity_class").loc["mine", "n_studies"] == 2


def test_nothing_that_was_read_is_lost(table):
    """The number of facts of each kind: a lost cell is noticed."""
    told = {name: int((table[name].notna() & (table[name] != "")).sum()) for name in FACTS}
    assert told == FACTS


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
    rows = table.set_index("id")
    for finding, named in others.items():
        for other in named:  # they answer one question, and not with the same sign
            assert rows.loc[finding, "question"] == rows.loc[other, "question"], (finding, other)
            signs = rows.loc[[finding, other], "sign"]
            assert signs.isna().any() or signs.nunique() == 2


def test_own_findings_are_rows(tmp_path, table):
    own = pd.DataFrame([OWN])
    path = tmp_path / "mine.csv"
    own.to_csv(path, index=False)
    for extra in (own, path, str(path)):
        both = findings(extra)
        pd.testing.assert_frame_equal(both.iloc[:-1], table)
        last = both.iloc[-1]
        assert last["source"] == "Mine 2026 (unpublished)"
        assert last["unpublished"]
        assert (last["evidence"], last["study"], last["why_not"]) == ("unpublished", "mine2026", "")
        assert (last["value"], last["unit"]) == (0.6, "fraction")
        assert np.isnan(last["sign"])
        assert last["question"] == table.set_index("id").loc["shin2019.rev_fraction", "question"]


def test_own_findings_may_be_published_and_ask_something_new():
    own = pd.DataFrame([OWN | {"doi": "10.1000/mine", "question": "What now?", "study": "ours"}])
    last = findings(own).iloc[-1]
    assert (last["source"], last["evidence"]) == ("Mine 2026", "primary paper")
    assert (last["question"], last["study"]) == ("What now?", "ours")
    of_nothing = pd.DataFrame([OWN | NONE | {"statistic": None, "why_not": "spikes"}])
    assert findings(of_nothing).iloc[-1]["question"] == "reverse fraction"


@pytest.mark.parametrize("numbers", [{}, VALUE, DIRECTION, NULL, NONE | {"why_not": "spikes"}])
def test_every_likelihood_can_be_given_and_read_from_a_file(tmp_path, numbers):
    own = pd.DataFrame([OWN | numbers])
    path = tmp_path / "mine.csv"
    own.to_csv(path, index=False)
    row = findings(path).iloc[-1]
    for column in LIKELIHOODS[row["likelihood"]]:
        assert row[column] == (OWN | numbers)[column]
    given_others = [name for name in NUMBERS - {*LIKELIHOODS[row["likelihood"]], "value"}
                    if not np.isnan(row[name])]  # fmt: skip
    assert given_others == []


@given(st.data())
def test_a_likelihood_without_its_numbers_is_refused(data):
    """Whatever number is taken away, or given beside."""
    kind = data.draw(st.sampled_from([{}, VALUE, DIRECTION, NULL]))
    own = OWN | kind
    column = data.draw(st.sampled_from(LIKELIHOODS[own["likelihood"]]))
    with pytest.raises(ValueError, match=f"likelihood '{own['likelihood']}' needs {column}"):
        findings(pd.DataFrame([own | {column: None}]))
    others = NUMBERS - {"value", "n_units", *LIKELIHOODS[own["likelihood"]]}
    other = data.draw(st.sampled_from(sorted(others)))
    with pytest.raises(ValueError, match=f"{other} belongs to the likelihood"):
        findings(pd.DataFrame([own | {other: 1}]))


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_must_follow_from_its_count(count):
    successes, trials = count
    own = OWN | {"successes": successes, "trials": trials, "unit": "%"}
    row = findings(pd.DataFrame([own | {"value": round(100 * successes / trials)}])).iloc[-1]
    assert as_share(pd.DataFrame([row])).iloc[0] == pytest.approx(successes / trials, abs=0.00501)
    wrong = 100 * successes / trials + 0.52
    with pytest.raises(ValueError, match="must be successes / trials"):
        findings(pd.DataFrame([own | {"value": wrong}]))


def test_criteria_of_a_study_are_those_of_its_detection():
    """Columns and fields match one to one; criteria that a study does not report are as given."""
    told = {"min_length": 4, "min_distance_cm": 30.0, "largest_jump_cm": 50.0}
    told |= {"min_extent_cm": 40.0, "min_correlation": 0.6}
    row = findings(pd.DataFrame([OWN | told])).iloc[-1]
    assert detection_of(row, spacing=20.0) == Detection(4, 30.0, 2, 40.0, 0.6)
    assert detection_of(row, spacing=80.0).largest_jump == 1
    assert [name.removesuffix("_cm") for name in told] == list(Detection._fields)
    plain = findings(pd.DataFrame([OWN])).iloc[-1]
    assert detection_of(plain, spacing=20.0) == Detection()
    assert detection_of(plain, 20.0, Detection(5)) == Detection(5)
    with pytest.raises(ValueError, match="spacing"):
        detection_of(plain, spacing=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "gupta2010.bwd_fraction"}, "Two findings have the id 'gupta2010.bwd_fraction'"),
        ({"id": "my finding"}, "an id must not contain spaces"),
        ({"citation": None}, "citation is empty"),
        ({"doi": "https://doi.org/10.1000/mine"}, "doi must look like 10.1016"),
        ({"year": 26}, "year must be a whole number from 1901 to 2099, got 26"),
        ({"year": None}, "year is empty"),
        ({"value": "about half"}, "value must be a finite number, or empty; got 'about half'"),
        ({"value": np.inf}, "value must be a finite number"),
        ({"value": 0.4, "unit": "fraction"}, "value, 0.4, must be successes / trials, 60 / 100"),
        ({"successes": 101}, "successes, 101, must not be more than trials, 100"),
        ({"successes": -1}, "successes must be a whole number of 0 or more, got -1"),
        ({"trials": 99.5}, "trials must be a whole number of 1 or more, got 99.5"),
        ({"chance": 12}, "chance must be a number from 0 to 1, got 12"),
        ({"n_animals": 0}, "n_animals must be a whole number of 1 or more"),
        ({"unit_of_n": "rat"}, "unit_of_n must be one of animal, session, pause, event; got 'rat'"),
        ({"min_correlation": 60}, "min_correlation must be a number from 0 to 1"),
        ({"min_length": 1}, "min_length must be a whole number of 2 or more"),
        ({"evidence": "hearsay"}, "evidence must be one of primary paper, .* got 'hearsay'"),
        ({"likelihood": "t-test"}, "likelihood must be one of count, value, .* got 't-test'"),
        ({"likelihood": None}, "got '' .pandas reads 'null' in a file as empty"),
        ({"sign": 1}, "sign belongs to the likelihood 'direction', but the likelihood is 'count'"),
        (NONE, "with the likelihood 'none', why_not must say why"),
        (VALUE | {"standard_error": 0}, "standard_error must be a number above 0, got 0"),
        (VALUE | {"value": 60, "unit": "%"}, "scale of the statistic: 0.6, not percent"),
        (DIRECTION | {"sign": 0}, "sign must be 1 or -1, got 0"),
        (DIRECTION | {"sign": 2}, "sign must be a whole number from -1 to 1, got 2"),
        (DIRECTION | {"p_value": 0}, "p_value must be a number above 0, up to 1, got 0"),
        (NULL | {"excluded_low": 0.1}, "excluded_low, 0.1, must be below excluded_high, 0.1"),
        ({"statistic": None}, "needs a statistic"),
        ({"statistic": "S01"}, "Unknown statistic 'S01'. Choose from"),
        (
            {"statistic": "reverse_shar"},
            r"mean 'reverse_share'. The nearest of \d+: (\w+, ){4}\w+\.",
        ),
        ({"task_name": None}, "task_name must say in which task"),
        ({"contradicts": "nobody2020.x"}, "contradicts 'nobody2020.x', which is not a finding"),
        ({"pvalue": 0.1}, "has the column 'pvalue', which findings don't have"),
        ({"value": True}, "row 0, finding 'mine2026.reverse': value must be a finite number"),
        ({"value": 1 + 2j}, r"value must be a finite number, or empty; got \(1\+2j\)"),
        ({"citation": [["Mine M (2026)"]]}, "row 0: citation must be text, got"),
    ],
)
def test_mistakes_in_own_findings_are_explained(change, message):
    with pytest.raises(ValueError, match=message):
        findings(pd.DataFrame([OWN | change]))


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match=r"your findings lacks the columns \['year'\]"):
        findings(pd.DataFrame([OWN]).drop(columns="year"))


def test_numbers_may_be_written_as_text():
    own = pd.DataFrame([OWN | {"successes": "60", "year": "2026"}])
    assert findings(own).iloc[-1]["successes"] == 60


HEADER = ",".join(OWN).encode()
ROW = b'mine,"Mine M (2026) My track.",2026,share,reverse_share,linear_track,count,60,100'


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
            "must have 9 fields in each row.* row 3 has 10",
        ),
        (HEADER + b"\n" + ROW[:-4], "must have 9 fields in each row"),
        (HEADER + b"\n\n" + ROW[:-1] + b"x", "mine.csv, row 3, finding .* must be a finite number"),
        (b"\x00\x01", "lacks the columns"),
    ],
)
def test_broken_files_are_explained(tmp_path, content, message):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        findings(path)


def test_what_is_no_table_and_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        findings(tmp_path / "none.csv")
    with pytest.raises(OSError, match="must be a file, but it is a folder"):
        findings(tmp_path)
    with pytest.raises(TypeError, match="must be a DataFrame or the path of a file, got 5"):
        findings(5)
    own = pd.DataFrame([OWN])
    with pytest.raises(ValueError, match="has the column 'year' more than once"):
        findings(pd.concat([own, own[["year"]]], axis="columns"))


def test_definitions_and_reanalyses_are_told(table):
    """Findings say what was measured, if the paper does, and whose data were analysed again."""
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
