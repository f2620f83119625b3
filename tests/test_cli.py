"""The command line as a newcomer would use it."""

import inspect
import io
import json
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from itertools import combinations
from pathlib import Path

import numpy as np
import own_learner
import pandas as pd
import pytest
import typer
from commands import replay, replay_in_a_process
from rich.console import Console
from typer.testing import CliRunner

from analyses.cli import app, inference, main, simulations, terminal
from analyses.cli.studies import study
from analyses.cli.terminal import PIPE_WIDTH, print_frame, print_table, wrapped
from analyses.findings.accounts import ACCOUNTS
from analyses.jobs.columns import TABLES
from analyses.measures import STATISTICS
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.changes import plan_change
from analyses.studies.comparison import plan_comparison
from analyses.studies.demands import plan_demands
from analyses.studies.explanation.explain import plan_explanation
from analyses.studies.explanation.identify import plan_identifiability
from replay.learners import LEARNERS, find_learner
from replay.simulation import simulate
from replay.tasks.published import TASKS
from replay.version import __version__
from replay.worlds.changing_worlds import WORLDS
from replay.worlds.mazes import from_ascii


def test_help_names_all_commands():
    done = replay("--help")
    assert done.returncode == 0
    for name in ("reproduce", "learners", "demands", "experiments", "classify", "figures"):
        assert name in done.stdout


def test_no_two_options_differ_by_a_letter():
    commands = typer.main.get_command(app).commands.values()
    options = {name for each in commands for option in each.params for name in option.opts}
    names = sorted(name for name in options if name.startswith("--"))
    assert "--n-worlds" in names
    for one, other in combinations(names, 2):
        shorter, longer = sorted([one, other], key=len)
        without_one = {longer[:k] + longer[k + 1 :] for k in range(len(longer))}
        replaced = len(one) == len(other) and sum(map(str.__ne__, one, other)) == 1
        assert shorter not in without_one, (one, other)
        assert not replaced, (one, other)


@pytest.mark.parametrize("name", [*typer.main.get_command(app).commands])
def test_help_has_an_example_and_flags_have_no_value(name):
    command = typer.main.get_command(app).commands[name]
    words = shlex.split(re.search(r"Example: (.*)", command.help)[1])
    assert words[:2] == ["replay", name]
    command.make_context(name, words[2:])  # an error, if the example has a mistake
    shown = CliRunner().invoke(app, [name, "-h"])
    assert shown.exit_code == 0
    assert "bool" not in shown.output


def test_a_study_with_a_command_has_one_way_to_be_run():
    with pytest.raises(ValueError, match="has a command of its own: replay compare"):
        study("comparison")


def test_help_needs_no_numba():
    code = (
        "import sys; from typer.testing import CliRunner; from analyses.cli import app; "
        "assert CliRunner().invoke(app, ['reproduce', '--help']).exit_code == 0; "
        "assert not {'numba', 'pandas', 'matplotlib'} & set(sys.modules), 'slow imports'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lists():
    family = replay("learners").stdout.splitlines()
    assert [line.split()[0] for line in family[1 : 1 + len(LEARNERS)]] == list(LEARNERS)
    assert all(len(re.split(r" {2,}", line)) == 3 for line in family[: 1 + len(LEARNERS)])
    assert max(map(len, family)) <= PIPE_WIDTH
    one = replay("learners", "sfma").stdout
    assert "It stores: the last try of each pair; similarity of states." in one
    assert "Diekmann & Cheng 2023" in one
    assert "One of default, reverse, dynamic." in one
    assert "From 0 to 1. Discount factor" in one
    assert "similarity_discount" in one
    assert "Did you mean 'sfma'?" in replay("learners", "smfa").stderr
    assert "1,000,000" in replay("experiments").stdout


def shown(*words, monkeypatch, capsys):
    """Run a command in this process, and give what it prints in a pipe."""
    monkeypatch.setattr(sys, "argv", ["replay", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("--version", [f"replay {__version__}"]),
        ("tasks", [*TASKS, "rate_before_first_lap"]),
        ("worlds", [*WORLDS, "noise=0.2"]),
        ("findings", [*STATISTICS, "share: reverse among directional sequences", "wimmer2023"]),
        ("findings shortcut_share", ["gupta2010.shortcut_rate.never", "0.0064", "no: tested by"]),
        ("findings y_maze", ["y_maze"]),
        ("findings both_ways_share", ["share: sequences along moves", "No finding is listed"]),
        ("findings gillespie2024", ["Neurofeedback", "gillespie2024.after", "no: per ripple"]),
        ("tasks gupta_2t", ["left_loop", "share: shortcuts", "pauses of rest"]),
        ("accounts", [*ACCOUNTS, "spectral_diffusion"]),
        ("accounts sfma", ["0.1 to 10,", "default or reverse", "or dynamic", "Diekmann"]),
        ("columns", [*TABLES]),
        ("columns sums", ["evidence_of_all", "bits"]),
    ],
)
def test_what_there_is_is_listed(command, words, monkeypatch, capsys):
    printed = shown(*command.split(), monkeypatch=monkeypatch, capsys=capsys)
    assert [word for word in words if word not in printed] == []
    assert printed.splitlines() == [line.rstrip() for line in printed.splitlines()]


def test_python_runs_the_package_as_the_command():
    command = [sys.executable, "-m", "replay", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"replay {__version__}")


def test_a_learner_of_ones_own_from_a_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "backward_q.py").write_bytes(Path(own_learner.__file__).read_bytes())
    monkeypatch.chdir(tmp_path)
    shown(
        "reproduce", "--experiment", "stochastic_tree", "--learner", "./backward_q.py,q_learning",
        "--n-worlds", "1", "--repeats", "1", "--steps", "200", "--jobs", "1", "--log", "none",
        monkeypatch=monkeypatch, capsys=capsys,
    )  # fmt: skip
    table = pd.read_csv("results/reward_rate.csv")
    assert table["learner"].unique().tolist() == ["q_learning", "backward_q"]
    manifest = json.loads(Path("results/manifest.json").read_text())
    assert list(manifest["files"]) == ["backward_q"]
    found = find_learner("backward_q.py", {"discount": 0.5})
    assert (found.name, found.params.discount) == ("backward_q", 0.5)
    assert find_learner("backward_q.py").module is found.module
    Path("q_learning.py").write_text("")
    for name, error, message in (
        ("nowhere.py", FileNotFoundError, "There is no file"),
        ("q_learning.py", ValueError, "There is a learner 'q_learning' already"),
        ("fails.py", ValueError, "fails.py, line 2: ZeroDivisionError"),
    ):
        Path("fails.py").write_text("x = 1\nx / 0")
        with pytest.raises(error, match=message):
            find_learner(name)


@pytest.mark.parametrize("width", [30, 80])
def test_sentences_are_broken_between_words(width):
    text = "Words are the most that were held, operations are those of a step.\n\nEnd"
    lines = wrapped(text, width).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(lines).split() == text.split()
    assert lines[-2:] == ["", "End"]


def test_reproduce_then_figures(tmp_path):
    done = replay(
        "reproduce", "--experiment", "stochastic_tree", "--learner",
        "prioritized_sweeping,episodic_control", "--n-worlds", 2, "--repeats", 1, "--steps", 400,
        "--jobs", 1, "--out", tmp_path / "results",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Episodic control" in done.stdout
    table = pd.read_csv(tmp_path / "results" / "reward_rate.csv")
    assert len(table) == 2 * 100
    figures = tmp_path / "results" / "figures"
    drawn = {
        f"{name}_stochastic_tree" for name in ("replay_events", "replay_over_time", "learned_graph")
    }
    drawn |= {"learning_curves", "mdps", "replay_kinds"}
    assert {path.name for path in figures.iterdir()} == {
        f"{name}.{end}" for name in drawn for end in ("pdf", "png")
    }
    curves = figures / "learning_curves.png"
    curves.unlink()
    assert str(curves) in replay("figures", tmp_path / "results").stdout.replace("\n", "")
    assert curves.exists()


def test_classify_a_log(tmp_path):
    run = simulate(from_ascii("S...\n.#.G"), "episodic_control", n_steps=2000)
    run.log.save(tmp_path / "log")
    done = replay("classify", tmp_path / "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reverse_episode" in done.stdout
    assert done.stdout.splitlines()[1].split()[2:4] == ["0", "0"]  # forward and novel paths
    assert len(pd.read_parquet(tmp_path / "sequences.parquet")) > 10
    simulate(from_ascii("S.G"), "q_learning", n_steps=100).log.save(tmp_path / "silent")
    done = replay("classify", tmp_path / "silent", cwd=tmp_path)
    assert done.stdout.splitlines()[1].split() == ["0"] * 6


LONG, BIG = "x" * 300, "99999999999"
WRONG = [
    # command, exit code, what the sentence says
    ("nonsense", 2, "No such command"),
    ("reproduce --n-worlds 0", 1, "The number of worlds must be a whole number from 1 to 1000000"),
    ("reproduce --n-worlds -3", 1, "got -3"),
    (f"reproduce --n-worlds {BIG}", 1, f"got {BIG}"),
    (f"reproduce --repeats {BIG}", 1, "The number of seeds"),
    (f"reproduce --jobs {BIG}", 1, "The number of jobs must be a whole number from 1 to 10000"),
    ("reproduce --jobs -1", 1, "The number of jobs"),
    ("reproduce --jobs two", 2, "Invalid value for '--jobs'"),
    (f"reproduce --steps {BIG}00000", 1, "from 100 to 1000000000000"),
    ("reproduce --steps 0", 1, "The number of steps of deterministic_tree"),
    ("reproduce --steps -100", 1, "got -100"),
    ("reproduce --steps maze=", 1, "--steps must be one number"),
    ("reproduce --steps =100", 1, "--steps must be one number"),
    ("reproduce --steps mais=100", 1, "Unknown experiment 'mais'"),
    ("reproduce --experiment maze --steps stochastic_tree=100", 1, "not among the experiments"),
    ("reproduce --seed -1", 1, "The seed must be a whole number of at least 0, got -1"),
    ("reproduce --keep-logs -1", 1, "The number of logs to keep"),
    ("reproduce --log some", 1, "Unknown log 'some'. Choose from: replay, all, none"),
    ("reproduce --variant D99", 1, "Unknown variant 'D99'"),
    (f"reproduce --experiment {LONG}", 1, "Unknown experiment 'xxx"),
    (["reproduce", "--learner", ""], 1, "Unknown learner ''"),
    ("reproduce --experiment maze,,tree", 1, "Unknown experiment ''"),
    (f"reproduce --out {LONG}", 1, "cannot be written: File name too long"),
    ("reproduce --out file", 1, "file is a file. Choose a folder with --out"),
    ("reproduce --out folder", 1, "folder already exists but holds no results"),
    ("reproduce --out file/there", 1, "cannot be written"),
    ("reproduce --learner dyna", 1, "Unknown learner 'dyna'"),
    ("reproduce --experiment mace", 1, "Did you mean 'maze'"),
    ("reproduce --steps many", 1, "--steps must be one number"),
    ("reproduce --steps 250", 1, "multiple of 100"),
    ("reproduce --jobs 0", 1, "The number of jobs must be a whole number from 1"),
    ("reproduce --jobs 2 --cluster tcp://host:1", 1, "exclude each other"),
    ("reproduce --pieces 4/3", 1, "--pieces must be a part and the number of parts"),
    ("reproduce --nonsense", 2, "No such option"),
    ("reproduce extra", 2, "unexpected extra argument"),
    ("compare --task nowhere", 1, "Unknown task 'nowhere'. Choose from: linear_track"),
    (f"compare --task {LONG}.py", 1, "at most 80 letters"),
    ("compare --task nowhere.py", 1, "'nowhere.py' is not a file"),
    ("compare --task empty.py", 1, "it has no TASK"),
    ("compare --task fails.py", 1, "fails.py, line 2: ZeroDivisionError: division by zero"),
    ("compare --task without.py", 1, "has no statistics"),
    (f"compare --draws {BIG}", 1, "The number of draws must be a whole number from 2"),
    ("compare --draws 0", 1, "--draws: The number of draws must be a whole number from 2"),
    ("identifiability --task linear_track --draws 1", 1, "Error: --draws must be a whole number"),
    ("identifiability --task linear_track --events 0", 1, "Error: --events must be a whole number"),
    ("identifiability --task linear_track --wrong-places 3", 1, "Error: --wrong-places must be a"),
    ("recording none.nwb", 1, "There is no file none.nwb"),
    ("recording track.json", 1, "Recordings are read from .nwb"),
    ("recording xy.csv --track track.json --state-size 0", 1, "Error: --state-size must be a"),
    ("recording xy.csv --track track.json --shortest 1", 1, "at least 1, got 0.75"),
    ("recording xy.csv --track track.json --unknown 5", 1, "Error: --unknown must be a number"),
    ("recording moves.csv --track track.json --shuffles 0", 1, "Error: --shuffles must be a whole"),
    ("recording moves.csv --channel 4", 1, "--channel chooses from an NWB file, but no file here"),
    (
        "recording xy.csv --track track.json --largest-speed -5",
        1,
        "--largest-speed must be a number",
    ),
    (
        "recording xy.csv",
        1,
        "xy.csv has no track graph: give one with nodes and edges in cm, as JSON "
        "or networkx.Graph (--track); replay track draws one. Where",
    ),
    (
        "recording xy.csv --track track.json --events events.csv",
        1,
        "must end after they begin; row 3 of events.csv goes from 5 to 4 s",
    ),
    (
        "recording bad.csv worse.csv --track track.json",
        1,
        "The column 'time' of bad.csv must hold "
        "finite numbers; row 3 has 'a'. The column 'x' of worse.csv must hold finite",
    ),
    (
        "identifiability --laps moves.csv",
        1,
        "The column 'time' of moves.csv must not descend; row 3",
    ),
    ("compare --accounts wild", 1, "Unknown account of replay 'wild'"),
    ("compare --findings nowhere.csv", 1, "nowhere.csv"),
    ("compare --findings empty.py", 1, "empty.py is empty"),
    ("compare --findings folder", 1, "folder"),
    (["change", "--world", "shortcut", "--learner", "dyna_q n"], 1, "parameters as name=value"),
    (["change", "--world", "shortcut", "--learner", "dyna_q n="], 1, "parameters as name=value"),
    (
        ["change", "--world", "shortcut", "--learner", "dyna_q n_replays=-1"],
        1,
        "n_replays of 'dyna_q' must be between",
    ),
    (
        ["change", "--world", "shortcut", "--learner", "dyna_q discount=NaN"],
        1,
        "discount of 'dyna_q' must be a number",
    ),
    (["change", "--world", "shortcut", "--learner", ""], 1, "Unknown learner ''"),
    (["change", "--world", "shortcut", "--learner", "dyna_q n=2"], 1, "has no parameter 'n'"),
    (["change", "--world", "shortcut", "--learner", "q_learning epsilon=few"], 1, "a number"),
    ("change --world shortcut --learner dyna", 1, "Unknown learner 'dyna'"),
    ("change --world shortcut --learner all", 1, "Name at least one learner"),
    ("change", 2, "Missing option '--world'"),
    ("change --world short_cut", 1, "Unknown world 'short_cut'. Did you mean 'shortcut'"),
    (f"change --world shortcut --n-worlds {BIG}", 1, "The number of worlds"),
    ("change --world shortcut --repeats -1", 1, "The number of seeds"),
    ("change --world shortcut --steps 10", 1, "must be a whole number from 50"),
    (f"change --world shortcut --steps {BIG}{BIG}", 1, "The number of steps of a phase"),
    ("change --world shortcut --rest -1", 1, "The number of pauses of rest"),
    ("demands --visits 0", 1, "The number of visits"),
    (f"demands --n-worlds {BIG}", 1, "The number of worlds"),
    ("demands --learner nobody", 1, "Unknown learner 'nobody'"),
    ("study nowhere", 1, "Unknown study 'nowhere'. Choose from: reproduction"),
    ("study bounded_memory --size 0", 1, "The size of a study must be above 0"),
    ("study bounded_memory --size nan", 1, "The size of a study must be a number"),
    (f"study bounded_memory --size {BIG}", 1, "from 0 to 10000"),
    ("study bounded_memory --size much", 2, "Invalid value for '--size'"),
    ("study bounded_memory --seed -1", 1, "The seed must be a whole number of at least 0"),
    ("study mine.py", 1, "mine.py does not exist"),
    ("status nowhere", 1, "not a result folder"),
    ("status damaged", 1, "manifest.json is damaged"),
    ("status old", 1, "names no pieces"),
    ("figures file", 1, "not a result folder"),
    ("figures nowhere", 1, "not a result folder"),
    ("figures old", 1, "another version of this toolkit"),
    ("classify nowhere", 1, "nowhere is not a folder"),
    ("classify file", 1, "is not a folder"),
    ("classify nowhere --out folder", 1, "must end with .parquet, got 'folder'"),
    ("classify nowhere --out file/there.parquet", 1, "there.parquet cannot be written: Not a dir"),
    ("gallery --out picture.jpg", 1, "must end with .png, got 'picture.jpg'"),
    ("gallery --out taken.png", 1, "taken.png cannot be written: a folder of that name exists"),
    ("gallery --out file/there/picture.png", 1, "picture.png cannot be written: Not a directory"),
    (f"gallery --out {LONG}.png", 1, "File name too long. Choose another file with --out"),
    (f"gallery --out {LONG}/picture.png", 1, "File name too long. Choose another file"),
    ("animate nowhere --out file/there.gif", 1, "there.gif cannot be written: Not a directory"),
    ("animate nowhere --out pause.avi", 1, "A film is written as .gif or .mp4"),
    ("animate nowhere", 1, "nowhere is not a folder"),
    ("page nowhere", 1, "nowhere is not a folder. Name a folder that"),
    ("page folder", 1, "folder contains neither an event log"),
    ("explain moves.csv --draws 16", 1, "--draws must be a whole number from 20 to"),
    ("page nowhere --out page.pdf", 1, "must end with .html, got 'page.pdf'"),
    ("animate nowhere --world folder", 1, "folder"),
    ("animate nowhere --world fails.py", 1, "holds no MDP"),
    ("learners nobody", 1, "Unknown learner 'nobody'"),
    ("experiments extra", 2, "unexpected extra argument"),
]


@pytest.fixture
def wrong_things(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "taken.png").mkdir()
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "moves.csv").write_text("state,next_state,terminated,time\n0,1,0,5\n1,2,1,3\n")
    (tmp_path / "xy.csv").write_text("time,x,y\n0,0,0\n1,50,0\n2,100,0\n")
    (tmp_path / "bad.csv").write_text("time,x,y\n0,0,0\na,50,0\n")
    (tmp_path / "worse.csv").write_text("time,x,y\n0,b,0\n1,50,0\n")
    (tmp_path / "events.csv").write_text("start,stop\n0.5,0.6\n5,4\n")
    (tmp_path / "track.json").write_text(
        '{"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}'
    )
    (tmp_path / "fails.py").write_text("x = 1\nx / 0")
    entry = "from replay.tasks.published import TaskEntry\nTASK = TaskEntry(dict, ())"
    (tmp_path / "without.py").write_text(entry)
    for name, text in (("damaged", "[1]"), ("old", '{"experiments": []}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text)
    return sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize(("command", "code", "message"), WRONG, ids=lambda value: str(value)[:50])
def test_wrong_input_is_one_sentence(
    command, code, message, wrong_things, tmp_path, monkeypatch, capsys
):
    """In this process, because starting one takes longer than all the rest."""
    words = command.split() if isinstance(command, str) else command
    monkeypatch.setattr(sys, "argv", ["replay", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    told = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == code
    assert " ".join(message.split()) in told.replace("│ ", "")
    assert "Traceback" not in told
    if code == 1:
        sentence = told.partition("Error: ")[2]
        assert len(sentence) > 20
    assert sorted(tmp_path.rglob("*")) == wrong_things, "something was left behind"


class Terminal(io.StringIO):
    """What is written to it is shown on a screen."""

    def isatty(self):
        return True

    def text(self):
        return re.sub(r"\x1b\[[\d;]*m", "", self.getvalue())


COUNTS = {"n_mdps": "n_worlds", "n_seeds": "repeats"}


@pytest.mark.parametrize(
    ("command", "plan", "others"),
    [
        (simulations.reproduce, plan_reproduction, COUNTS),
        (simulations.compare, plan_comparison, {"accounts": ""}),
        (simulations.change, plan_change, COUNTS),
        (simulations.demands, plan_demands, COUNTS),
        (inference.explain, plan_explanation, {"accounts": ""}),
        (inference.identifiability, plan_identifiability, {"accounts": "", "n_sessions": ""}),
    ],
)
def test_commands_have_the_defaults_of_their_plans(command, plan, others):
    options, arguments = (inspect.signature(each).parameters for each in (command, plan))
    names = {name: others.get(name, name.removeprefix("n_")) for name in arguments}
    same = {name: option for name, option in names.items() if option in options}
    assert {"seed"} < set(same)
    for name, option in same.items():
        assert options[option].default == arguments[name].default, option


def test_only_the_bar_of_all_work_shows_times(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(terminal, "screen", Console(file=shown, width=80, force_terminal=True))
    with terminal.progress_bars() as progress:
        for name in ("maze", "tree", "all"):
            progress.add_task(name, total=2)
    last = [line for line in shown.text().splitlines() if "%" in line][-3:]
    assert [line.split()[0].rpartition("K")[2] for line in last] == ["maze", "tree", "all"]
    assert ["left" in line for line in last] == [False, False, True]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_word_is_broken_on_a_narrow_screen(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "argv", ["replay", "learners"])
    with redirect_stdout(Terminal()) as screen, pytest.raises(SystemExit):
        main()
    lines = screen.text().splitlines()
    assert max(map(len, lines)) <= width
    words = set(screen.text().split())
    for name in LEARNERS:
        told = find_learner(name).description
        parts = (name, told.stores, told.pauses, told.priority, told.source)
        assert {word for part in parts for word in part.split()} <= words


@pytest.mark.parametrize("name", ["prioritized_memory_access", "bayes_adaptive", "sfma"])
def test_ranges_of_parameters_fit_on_a_narrow_screen(name, monkeypatch):
    """Each parameter is printed with its default and the range that it is checked against."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["replay", "learners", name])
    with redirect_stdout(Terminal()) as screen, pytest.raises(SystemExit):
        main()
    assert max(map(len, screen.text().splitlines())) <= 80
    words = screen.text().split()
    found = find_learner(name)
    assert found.parameters.keys() <= set(words)
    for names in found.choices.values():
        assert {f"{each}," for each in names[:-1]} | {f"{names[-1]}."} <= set(words)
    bounded = [kind for kind in found.ranges.values() if getattr(kind, "high", 1e100) < 1e100]
    assert words.count("From") == len(bounded)


@pytest.mark.parametrize("width", [20, 80])
def test_a_row_that_fits_is_a_line_wherever_it_is_piped_to(width, monkeypatch):
    """The terminal's width, which a pipe inherits, is none of its business."""
    monkeypatch.setenv("COLUMNS", str(width))
    header = [f"column_{place}" for place in range(4)]
    rows = [["several words in a cell", "", "1", "2"], ["x" * 30, "y", "z", "4"]]
    with redirect_stdout(io.StringIO()) as piped:
        print_table(header, rows)
    lines = [re.split(r" {2,}", line) for line in piped.getvalue().splitlines()]
    assert lines == [header, [rows[0][0], "-", *rows[0][2:]], rows[1]]
    with redirect_stdout(io.StringIO()) as piped:
        print_frame(pd.DataFrame({"kind": ["one"], "share": [np.nan]}))
    assert piped.getvalue().splitlines()[1].split() == ["one", "-"]


@pytest.mark.parametrize(
    "command",
    [
        "accounts", "accounts dyna_q", "columns", "columns evidence", "experiments", "findings",
        "findings shortcut_share", "learners bayes_adaptive", "study", "tasks",
        "tasks w_track", "worlds",
    ],
)  # fmt: skip
def test_lists_fit_a_pipe(command, monkeypatch, capsys):
    """No line is longer than 100 characters, and no word is lost: all fit a wide terminal."""
    piped = shown(*command.split(), monkeypatch=monkeypatch, capsys=capsys)
    assert max(map(len, piped.splitlines())) <= PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    wide = shown(*command.split(), monkeypatch=monkeypatch, capsys=capsys)
    words = set(re.sub(r"\x1b\[\d+m", "", wide).split()) - {"account", "finding"}  # of paragraphs
    assert words <= {word for each in piped.split() for word in (each, each.rstrip(":"))}


def test_an_error_is_a_sentence_of_a_process_too(tmp_path):
    done = replay_in_a_process("reproduce", "--learner", "dyna", cwd=tmp_path)
    assert done.returncode == 1
    assert "Unknown learner 'dyna'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not done.stdout
    assert not list(tmp_path.iterdir())


def test_a_warning_is_a_sentence_without_terminal_codes(monkeypatch):
    """Matplotlib, for instance, warns of a letter that it cannot draw with the letter itself."""
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr("analyses.cli.app", lambda **_: None)
    main()
    told = warnings.formatwarning(UserWarning("Glyph (\x1b[2J) missing"), UserWarning, "x.py", 1)
    assert told == "Warning: Glyph (?[2J) missing\n"
