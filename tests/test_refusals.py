"""What used to be taken without a word, and came to nonsense later, is refused where it enters."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from commands import replay

from analyses.findings.table import findings
from analyses.measures.sequenceness import sequenceness
from analyses.plots.explanation import explained_sequences_figure
from analyses.plots.learners import plot_learners
from analyses.plots.recorded import plot_epoch_blocks
from analyses.plots.style import figure_style
from analyses.recordings.basics.arena import find_arena, world_of
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.signals import FieldPotential
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.decoded import read_table
from analyses.recordings.readers.intervals import read_intervals
from analyses.recordings.readers.rollouts import read_rollouts
from analyses.recordings.recover.unfolding import confusion_matrix
from analyses.studies.comparison import plan_comparison
from analyses.studies.comparison.compare_accounts import compare
from analyses.studies.pages import page_of_folders
from analyses.studies.reward_figures import changes_figure
from replay import MDP, EventLog, feed
from replay.encoders import LastObservations, StateMerging
from replay.log.parquet import LogError
from replay.tasks.routes import without_edges
from replay.worlds.mazes import from_ascii
from replay.worlds.protocols import Phase, Protocol
from replay.worlds.tracks import make_linear_track

STEPS = {"state": [0, 1], "next_state": [1, 2], "reward": [0.0, 1.0], "terminated": [False, True]}
BLOCKS = ["epoch", "start_time", "end_time", "observed", "candidates", "replay"]
AREAS = pd.DataFrame({"learner": ["sfma"], "reward": [1.0]})
NO_BLOCKS = pd.DataFrame(columns=BLOCKS, dtype=complex)
DECODED = pd.DataFrame({"event": [0, 0], "time": [1.0, 1.1], "x": [0, 9], "y": [0, 0]})
EVENTS = pd.DataFrame({"start": [0.0], "stop": [1.0]})
OF_NO_WALK = pd.DataFrame(
    {"animal": ["rat"], "account": "ceiling", "sequence": 0, "lap": 0, "bits": 1.0}
)
RATES = ["world", "learner", "phase", "time_step", "mean", "ci_low", "ci_high"]
NO_RATES = pd.DataFrame(columns=RATES)
TRACK = make_linear_track(100.0)
TWO = (np.array([0.0, 1.0]), np.array([[0.0, 0.0], [9.0, 0.0]]))


def protocol(*drawings, **options):
    return Protocol([Phase(from_ascii(text, **options), 5) for text in drawings])


def ways(*names):
    return MDP.from_tables([[0, 1], [1, 1]], [0, 1], start=0, action_names=names or None)


def recording(graph=TRACK, position=TWO[1], **options):
    return Recording("mine", graph, TWO[0], position, **options)


FINDING = {
    "id": "mine.reverse", "citation": "Mine M (2026)", "year": 2026, "quantity": "share",
    "statistic": "reverse_share", "task_name": "linear_track", "likelihood": "count",
    "successes": 4, "trials": 10,
}  # fmt: skip


def own_finding(**cells):
    return findings(pd.DataFrame([FINDING | cells]))


def plan(**cells):
    return plan_comparison(["linear_track"], ["dyna_q"], n_draws=2, findings=own_finding(**cells))


def draw_learners(names):
    return plot_learners(AREAS, value="reward", learners=names)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: protocol("S#G\n...", "S.G\n.#."), r"State 1 is \(2, 1\) in phase 0, but \(3, 1\)"),
        (lambda: protocol("SG", "S.G"), "the same n_states: phase 0 has 2, phase 1 has 3"),
        (
            lambda: Protocol([Phase(ways("left", "right"), 1), Phase(ways("right", "left"), 1)]),
            r"The actions are \['left', 'right'\] in phase 0, but \['right', 'left'\] in phase 1",
        ),
        (lambda: plan(task_name="linear_trak"), "'mine.reverse' .* Did you mean 'linear_track'"),
        (lambda: own_finding(n="-1"), "n must be a number above 0.*got '-1'"),
        (lambda: own_finding(n="0"), "n must be a number above 0.*got '0'"),
        (
            lambda: recording(field_potential=FieldPotential(0.0, -5.0, np.zeros((9, 1)))),
            "The sampling rate in Hz of the field potential of mine must be .*, got -5",
        ),
        (
            lambda: recording(position=np.array([[0.0, 0.0], [np.inf, 0.0]])),
            r"The positions of mine, in cm, must hold finite numbers.*\[1, 0\] has inf",
        ),
        (lambda: recording(make_linear_track(1.5), TWO[1] / 100), "1.5 cm long.* metres by 100"),
        (
            lambda: read_recording({"position_time": TWO[0], "position_xy": TWO[1]}, TRACK, bins=5),
            "bins are positions of a posterior, and the arrays has none",
        ),
        (
            lambda: read_recording({"position_time": TWO[0], "position_xy": TWO[1]}, TRACK,
                                   events="find_riples"),
            "name of a table in an NWB file, 'find_riples', but no file here is one",
        ),
        (lambda: sequenceness([np.eye(9)], np.eye(9), max_lag=2, seed=-1), "seed must be a whole"),
        (
            lambda: read_table(DECODED, None, most_unknown=np.nan),
            "most_unknown must be a number from 0 to 1, got nan",
        ),
        (
            lambda: confusion_matrix(pd.DataFrame({"true_kind": ["novel_pa?h"], "kind": "missed"})),
            r"Unknown 'true_kind' of recovered: 'novel_pa\?h'. Did you mean 'novel_path'",
        ),
        (lambda: LastObservations(3, of=2.0), "of must be an encoder such as .*, got 2.0"),
        (lambda: StateMerging(of=()), r"of must be an encoder such as .*, got \(\)"),
        (lambda: world_of({}, 25.0), "graph of world_of must be a Graph, got {}"),
        (lambda: find_arena([[0, 0], [1e300, 5]]), "1e[+]300 x 5 cm.* Are they in cm"),
        (lambda: read_rollouts("\n"), "must be the path of a file or folder"),
        (
            lambda: MDP.from_networkx(TRACK, start=1.5, bin_size=10),
            "start names 1.5, but the graph's nodes are",
        ),
        (
            lambda: compare(["long_track"], ["dyna_q"], n_draws=2, findings=pd.DataFrame()),
            "findings lacks the columns",
        ),
        (lambda: draw_learners(["\ud800"]), "Each of learners must be text"),
        (lambda: draw_learners("sfma"), "learners of .* must be a list of text"),
        (lambda: plot_learners(AREAS, value="\ud800"), "value must be text that can be written"),
        (lambda: plot_epoch_blocks(NO_BLOCKS), "blocks has no rows"),
        (
            lambda: explained_sequences_figure(OF_NO_WALK, pd.DataFrame({"animal": ["rat"]})),
            "explained_sequences_figure cannot draw what it was given .'walk' is missing",
        ),
        (lambda: plot_learners(AREAS.iloc[:, [0, 1, 1]]), "table has the column 'reward' more"),
        (lambda: plot_learners(AREAS.assign(n_mdps="a")), "'n_mdps' of table must hold finite"),
        (lambda: changes_figure(NO_RATES, OF_NO_WALK), "change_rates has no rows"),
        (
            lambda: EventLog({"steps": STEPS | {"reward": ["a", 1.0], "state": [0.5, 1]}}).columns(
                "steps"
            ),
            "'reward' of 'steps' must hold .* row 0 has 'a'. The column 'state' of 'steps' must",
        ),
        (
            lambda: feed("q_learning", pd.DataFrame(STEPS | {"action": [0, 5], "reward": "a"}),
                         n_states=3, n_actions=1),
            "'action' of transitions .* row 1 has 5.* The column 'reward' of transitions must hold",
        ),
        (
            lambda: read_table(DECODED.assign(x=["a", 1], event=[0.5, 1], time=[1.0, "b"]), None),
            "'time' of the table .* 'x' of the table .* 'event' of the table must hold whole",
        ),
        (
            lambda: read_intervals(pd.DataFrame({"start": ["a", 1.0], "stop": [1.0, "b"]})),
            "'start' of the events .* row 0 has 'a'. The column 'stop' of the events .* 1 has 'b'",
        ),
        (
            lambda: findings(pd.DataFrame([FINDING | {"successes": "a", "trials": "b"}])),
            "successes must be a finite number.*trials must be a finite number",
        ),
        (
            lambda: findings(pd.DataFrame([FINDING | {"n": "0"}, FINDING | {"doi": "x"}])),
            "row 0, finding 'mine.reverse': n must be .* row 1, finding 'mine.reverse': doi must",
        ),
        (lambda: read_intervals(EVENTS.iloc[:, [0, 1, 1]]), "the column 'stop' more than"),
        (lambda: read_rollouts({"actions": [[1]]}), "the arrays lacks agent_states"),
        (lambda: without_edges(nx.path_graph(["a", "b"]), [("a", "c")]), "'c'.*no edge of the"),
        (lambda: from_ascii("S.G", cell_size=0.1), "at least 0.5 cm; got 0.1. Multiply metres"),
        (
            lambda: EventLog({}).label(experiment=pd.DataFrame({"a": ["x", "y"]})),
            "must be of one length",
        ),
        (lambda: EventLog({}).label(seed=pd.DataFrame({"a": [1, 2]})), "must be of one length"),
        (
            lambda: EventLog({"steps": STEPS | {"reward": [0.0, np.nan]}}).columns("steps"),
            "'reward' of 'steps' must be finite, or NaN in all steps.*row 1 has nan",
        ),
        (
            lambda: EventLog({"steps": STEPS | {"reward": [np.inf, np.nan]}}).columns("steps"),
            "row 0 has inf",
        ),
        (
            lambda: feed("q_learning", pd.DataFrame(STEPS | {"action": 0})[:0], n_states=3,
                         n_actions=1),
            "transitions has no rows",
        ),
        (
            lambda: feed("q_learning", pd.DataFrame(STEPS | {"action": 0}), n_states=3,
                         n_actions=1, on_step=len),
            "on_step must be a function of a row and a memory, got <built-in function len>",
        ),
        (lambda: figure_style({5: "black"}).__enter__(), "Each name of a colour or label must be"),
        (lambda: figure_style({"maze": "no colour"}).__enter__(), "unknown to matplotlib"),
        (lambda: figure_style(labels={"maze": 5}).__enter__(), "The label of 'maze' must be text"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_phases_without_labels_or_with_the_same_fit_together():
    assert Protocol([Phase(ways("left", "right"), 1), Phase(ways(), 1)]).n_actions == 2
    maze = from_ascii("S.G")
    bare = MDP.from_transitions(**maze.transitions()._replace(labels=None, position=None)._asdict())
    assert len(Protocol([Phase(maze, 1), Phase(bare, 1), Phase(from_ascii("S.G"), 1)]).phases) == 3


def test_what_is_odd_and_may_be_meant_is_warned_of():
    with pytest.warns(UserWarning, match="The track is 1.5 cm long in all.*metres by 100"):
        MDP.from_networkx(make_linear_track(1.5), bin_size=0.5)
    with (
        pytest.warns(UserWarning, match="'qlearning'. Did you mean 'q_learning'"),
        figure_style({"qlearning": "black"}),
    ):
        pass
    with figure_style({"recent_sarsa": "black"}, {"my model": "Mine"}):
        pass


def test_findings_of_a_task_of_ones_own_are_tested_in_it(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from replay.tasks.published import TaskEntry\n"
        "from replay.tasks.published.arms import linear_track\n"
        "TASK = TaskEntry(linear_track, ('reverse_share',))\n"
    )
    own = plan_comparison(
        [str(tmp_path / "mine.py")], ["dyna_q"], n_draws=2, findings=own_finding(task_name="mine")
    )
    assert own.tested("mine")["id"].tolist() == ["mine.reverse"]


@pytest.mark.parametrize(("name", "closed"), [("world.json", {}), ("closed.json", {1: [(0, 1)]})])
def test_a_file_beside_the_tables_that_has_changed_is_noticed(tmp_path, name, closed):
    EventLog({"steps": STEPS}, mdp=from_ascii("S.G"), closed=closed).save(tmp_path / "log")
    assert EventLog.load(tmp_path / "log").closed == EventLog({}, closed=closed).closed
    path = tmp_path / "log" / name
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    with pytest.raises(LogError, match=f"{name} holds no .*it has changed since the log was"):
        EventLog.load(tmp_path / "log")
    path.unlink()
    assert len(EventLog.load(tmp_path / "log").steps) == 2


def test_options_that_choose_nothing_are_refused(tmp_path):
    EventLog({"steps": STEPS}, mdp=from_ascii("S.G")).save(tmp_path / "log")
    out = tmp_path / "page.html"
    for options in ({"learners": ["nope"]}, {"experiment": "maze"}):
        with pytest.raises(ValueError, match="chooses among the results of replay reproduce"):
            page_of_folders([tmp_path / "log"], out, **options)
    done = replay("page", tmp_path / "log", "--learner", "nope", "--out", out)
    assert done.returncode == 1
    assert not out.exists()
