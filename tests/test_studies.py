"""The list of studies: each a record with a question, tables and figures."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from gain_floor import STUDY
from test_columns import VERIFICATION

from analyses.jobs.results import Results
from analyses.jobs.run import manifest, run
from analyses.studies import STUDIES, find_study


@pytest.mark.parametrize("name", [*STUDIES, *VERIFICATION])
def test_a_study_is_a_record_under_its_name(name):
    study = find_study(name)
    assert study.name == Path(name).stem
    assert study.question[-1] in ".?"
    assert study.figures
    if study.plan is None:
        message = f"The study {study.name} needs more than a size: see {study.command}."
        with pytest.raises(ValueError, match=re.escape(message)):
            study.usual_plan()
    else:
        plan = study.usual_plan(0.01)
        described = manifest(study, plan)
        assert described["study"] == study.name
        assert sum(described["pieces"].values()) == len(study.all_pieces(plan)) > 0
        assert described["sources"] != "None"


def test_the_list_is_light_and_pieces_need_no_plots():
    code = (
        "import sys; import analyses.studies\n"
        "assert not [name for name in sys.modules if name.startswith('analyses.studies.')]\n"
        "from analyses.studies import STUDIES, find_study\n"
        "for name in STUDIES: find_study(name)\n"
        "assert not {'matplotlib', 'seaborn'} & set(sys.modules), 'plots'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_study_is_a_table_and_a_figure_and_goes_into_a_folder_of_its_own(tmp_path):
    folder = tmp_path / "floor"
    table = run(STUDY, STUDY.usual_plan(0.04, seed=1), folder)["gain_floor.csv"]
    written = pd.read_csv(folder / "gain_floor.csv")
    pd.testing.assert_frame_equal(written, table, check_dtype=False)
    assert {path.name for path in (folder / "figures").iterdir()} == {
        "gain_floor.pdf",
        "gain_floor.png",
    }
    status = Results(folder).status()
    assert not status.missing
    assert not status.damaged
    with pytest.raises(FileExistsError, match=r"another run \(seed is 1 there and 2 here\)"):
        run(STUDY, STUDY.usual_plan(0.04, seed=2), folder)
    assert pd.read_csv(folder / "gain_floor.csv").equals(written)


def test_unknown_studies_are_refused():
    with pytest.raises(ValueError, match="Did you mean 'bounded_memory'"):
        find_study("boundedmemory")
