"""Studies beyond the paper: each makes its table and its figure."""

import pandas as pd
import pytest

from analyses.jobs.results import Results
from analyses.studies.catalogue import STUDIES, make_study
from analyses.studies.figures import FIGURES


def test_each_study_has_a_figure_of_its_name():
    assert set(STUDIES) <= set(FIGURES)


def test_a_study_is_a_table_and_a_figure_and_goes_into_a_folder_of_its_own(tmp_path):
    table, figures = make_study("gain_floor", tmp_path / "floor", size=0.04, seed=1)
    written = pd.read_csv(tmp_path / "floor" / "gain_floor.csv")
    pd.testing.assert_frame_equal(written, table, check_dtype=False)
    assert {path.suffix for path in figures} == {".pdf", ".png"}
    status = Results(tmp_path / "floor").status()
    assert not status.missing
    assert not status.damaged
    with pytest.raises(FileExistsError, match=r"another run \(seed is 1 there and 2 here\)"):
        make_study("gain_floor", tmp_path / "floor", size=0.04, seed=2)
    assert pd.read_csv(tmp_path / "floor" / "gain_floor.csv").equals(written)


def test_unknown_studies_and_sizes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Did you mean 'gain_floor'"):
        make_study("gainfloor", tmp_path)
    with pytest.raises(ValueError, match="size of a study must be positive, got 0"):
        make_study("gain_floor", tmp_path, size=0)
    assert not list(tmp_path.iterdir())
