"""What all statistics have in common."""

import re
import sys

import pytest
from replay_tables import chain, eight, replays, track, w_track

from analyses.measures import STATISTICS
from analyses.measures.summary import over_animals


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("task", [track(), eight(), w_track()], ids=["track", "eight", "w_track"])
def test_every_statistic_of_every_task_gives_one_row_an_animal(name, task):
    """Where a task lacks what a statistic needs, or there is no replay, nothing is told."""
    pauses = [{"animal": animal, "phase": "start"} for animal in (3, 1)]
    laps = [{"animal": animal} for animal in (3, 1)]
    chains = [chain(*range(6), animal=3), chain(*range(5, -1, -1), animal=3, phase="rest")]
    statistic = STATISTICS[name]
    for tables in (replays(task, chains, pauses, laps), replays(task, [], pauses, laps)):
        found = statistic.compute(tables, min_length=3, order="causal")
        assert found.columns.tolist() == ["animal", "value", "null", "n"]
        assert found["animal"].tolist() == [1, 3]
        assert not found["null"][found["value"].isna()].notna().any()
        told = found["value"].dropna()
        assert not statistic.is_share or told.between(0, 1).all()
        assert len(over_animals(found.assign(statistic=name))) == 1
    assert statistic.label


def test_every_statistic_is_described_where_it_is_defined():
    """The list at the top of its file says what it is, and its null."""
    for name, statistic in STATISTICS.items():
        compute = getattr(statistic.compute, "func", statistic.compute)
        entries = re.findall(
            r"^``(.+)``.*\n((?:    .*\n)+)", sys.modules[compute.__module__].__doc__, re.MULTILINE
        )
        (text,) = (text for names, text in entries if name in names.split(", "))
        assert re.search(r"\bnull\b", text, re.IGNORECASE), name


def test_wrong_choices_of_chains():
    tables = replays(track(), [])
    with pytest.raises(ValueError, match=r"Unknown order 'casual'\. Did you mean 'causal'"):
        STATISTICS["S1"].compute(tables, order="casual")
    with pytest.raises(ValueError, match="min_length must be a whole number of at least 2, got 1"):
        STATISTICS["S1"].compute(tables, min_length=1)
    with pytest.raises(ValueError, match="chains lacks the columns"):
        STATISTICS["S1"].compute(tables._replace(chains=tables.chains.drop(columns="direction")))
