"""The arithmetic of the retest on the rats of another study, on counts by hand."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reward_retest import counts_of, drawn_again, ratio_of_ratios, totals
from reward_retest_figures import retest_figure
from scipy import io

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


GUIDE = Path(__file__).parents[1] / ".docs" / "how_to" / "retest_a_finding.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="in the checkout only")
def test_the_script_of_the_guide_counts_by_end_and_epoch(tmp_path, monkeypatch, capsys):
    """The rat goes to and fro; two stretches begin at the right end while it pays more."""
    time = np.arange(0.0, 300.0, 0.1)
    place = 50.0 - 50.0 * np.cos(np.pi * time / 30)  # at the right end at 30, 90, 150 ... s
    info = {"velocity": np.column_stack([time, time]), "position": place, "incr_end": 2,
            "epoch_change": np.array([[1000, 1001], [2000, 2001]]),
            "left_visit": np.array([[550, 650], [1150, 1250]]),
            "right_visit": np.array([[250, 350], [1450, 1550]])}  # fmt: skip
    rng = np.random.default_rng(1)
    spikes = np.column_stack(
        [np.sort(rng.uniform(0, 300, 900)), *rng.integers(0, [4, 2], (900, 2)).T]
    )
    bursts = np.array([[30.0, 30.2, 9.0], [150.0, 150.3, 9.0]])
    io.savemat(tmp_path / "session_info.mat", {"session_info": info})
    io.savemat(tmp_path / "spike_data.mat", {"spike_data": spikes})
    io.savemat(tmp_path / "sdes.mat", {"sdes": bursts})

    class Found:
        events = pd.DataFrame({"event": [0, 1, 2], "is_replay": [True, True, False]})
        stretches = pd.DataFrame(
            {"event": [0, 1, 1, 2], "start_time": [30.1, 150.0, 150.1, 180.0],
             "sense": ["forward", "reverse", "reverse", "reverse"]}
        )  # fmt: skip

        def report(self):
            return "found"

        def save(self, folder):
            assert folder == "session"

    def find(recording):
        assert len(recording.spikes) == 8
        assert [len(cell) for cell in recording.spikes] == [
            int(((spikes[:, 2] == tetrode) & (spikes[:, 1] == cluster)).sum())
            for tetrode in range(2)
            for cluster in range(4)
        ]
        assert recording.events["end_time"].tolist() == [30.2, 150.3]
        return Found()

    monkeypatch.setattr("analyses.recordings.find_replay", find)
    monkeypatch.setattr("sys.argv", ["reward_session.py", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    script = re.search(r"```python\n(# reward_session.*?)```", GUIDE.read_text("utf-8"), re.S)
    names = {}
    exec(compile(script[1], str(GUIDE), "exec"), names)
    counts = names["counts"]
    assert counts.loc[("right", "before")].to_dict() == {"forward": 1, "reverse": 0}
    assert counts.loc[("right", "raised")].to_dict() == {"forward": 0, "reverse": 2}
    assert len(counts) == 2
    assert "The right end pays more" in capsys.readouterr().out
    paid = pd.read_csv("paid.csv")
    assert paid.to_numpy() == pytest.approx(np.array([[30, 1], [60, 1], [120, 1], [150, 4]]))
